/** The accounts that are signed in on this browser, and which one is active. */

import {
  Http,
  IndexedDbStorage,
  MemoryTokenStore,
  type SignedIn,
  type Tokens,
  type UserId,
  WebDeviceProofs,
  WebTokenStore,
} from "@godwit/sdk";
import { computed, signal } from "@preact/signals";

import { Drafts, draftsKey } from "./drafts.js";
import { handoffKey } from "./handoff.js";
import { go, place } from "./place.js";
import { Session } from "./session.js";

export interface KnownAccount {
  id: UserId;
  handle: string;
  name: string;
  /** The session has ended, and the user has not signed in again yet. */
  ended?: boolean;
}

const ACCOUNTS_KEY = "godwit.accounts";
const ACTIVE_KEY = "godwit.active";
/** The device proofs of users who have signed in on this browser. They are kept after sign-out. */
const DEVICES_KEY = "godwit.devices";

class Accounts {
  readonly list = signal<readonly KnownAccount[]>(read());
  readonly activeId = signal<UserId | undefined>(localStorage.getItem(ACTIVE_KEY) ?? undefined);
  readonly session = signal<Session | undefined>(undefined);
  /** The user is adding another account. */
  readonly adding = signal(false);
  private openingId: UserId | undefined;

  /** Activates the account that was active last. */
  async start(): Promise<void> {
    const account = activeAccount.value;
    if (!account || account.ended || account.id === this.openingId) {
      return;
    }
    this.openingId = account.id;
    try {
      await this.open(account);
    } finally {
      this.openingId = undefined;
    }
  }

  /** Another tab has signed an account in or out. If the active account is gone, activates another one. */
  async takeOver(): Promise<void> {
    this.list.value = read();
    const account = activeAccount.value;
    if (!account || account.ended) {
      await this.leave();
    }
    if (!account) {
      this.activate(this.list.value[0]?.id);
    }
    if (!this.session.value) {
      await this.start();
    }
  }

  async register(handle: string, name: string, password: string): Promise<void> {
    const display_name = name.trim() === "" ? null : name.trim();
    const body = { handle, display_name, password, device_name: deviceName() };
    await this.entered(await anonymous().auth.register(body));
  }

  async signIn(handle: string, password: string): Promise<void> {
    await this.entered(await anonymous().auth.signIn({ handle, password, device_name: deviceName() }));
  }

  async switchTo(id: UserId): Promise<void> {
    await this.leave();
    this.activate(id);
    await this.start();
  }

  /** Signs the active account out and deletes its data from this browser. */
  async signOut(): Promise<void> {
    const id = this.activeId.value;
    if (id === undefined) {
      return;
    }
    const tokens = tokensOf(id).get();
    await this.leave();
    // Removes it locally before the server ends the session: otherwise another tab would learn of it from the server first,
    // and keep the account as one that was signed out elsewhere.
    await Promise.all([this.remove(id), endSession(tokens)]);
  }

  /** Removes an account from this browser, and activates another one if there is one. */
  async remove(id: UserId): Promise<void> {
    this.change((list) => list.filter((one) => one.id !== id));
    this.activate(this.list.value[0]?.id);
    await forgetDataOf(id);
    await this.start();
  }

  /** The server has ended the session of the active account. */
  private async ended(id: UserId): Promise<void> {
    await this.leave();
    this.change((list) => list.map((one) => (one.id === id ? { ...one, ended: true } : one)));
    await forgetDataOf(id);
  }

  private renamed(id: UserId, handle: string, name: string): void {
    this.change((list) => list.map((one) => (one.id === id ? { ...one, handle, name } : one)));
  }

  private async entered({ user, tokens }: SignedIn): Promise<void> {
    await this.leave();
    tokensOf(user.id).set(tokens);
    const account = { id: user.id, handle: user.handle, name: user.display_name };
    this.change((list) => [...list.filter((one) => one.id !== user.id), account]);
    this.activate(user.id);
    this.adding.value = false;
    await this.start();
  }

  private async open(account: KnownAccount): Promise<void> {
    const http = new Http({ baseUrl: location.origin, tokens: tokensOf(account.id) });
    const storage = await IndexedDbStorage.open(account.id);
    const { id, handle, name } = account;
    const owner = {
      id,
      handle,
      name,
      onEnded: () => void this.ended(id),
      onRenamed: (newHandle: string, newName: string) => this.renamed(id, newHandle, newName),
    };
    this.session.value = await Session.open(owner, http, storage);
  }

  private async leave(): Promise<void> {
    const session = this.session.value;
    this.session.value = undefined;
    await session?.close();
  }

  private activate(id: UserId | undefined): void {
    // An open conversation belongs to one account, but any account can use an invite link.
    const was = this.activeId.value;
    if (was !== undefined && was !== id && place.value.screen === "conversation") {
      go({ screen: "list" });
    }
    this.activeId.value = id;
    if (id === undefined) {
      localStorage.removeItem(ACTIVE_KEY);
    } else {
      localStorage.setItem(ACTIVE_KEY, id);
    }
  }

  /** Changes the stored list rather than the one in memory, because another tab may have changed it too. */
  private change(by: (list: readonly KnownAccount[]) => readonly KnownAccount[]): void {
    this.list.value = by(read());
    localStorage.setItem(ACCOUNTS_KEY, JSON.stringify(this.list.value));
  }
}

export const accounts = new Accounts();

window.addEventListener("storage", ({ key }) => {
  if (key === ACCOUNTS_KEY) {
    void accounts.takeOver();
  }
});

export const activeAccount = computed(() =>
  accounts.list.value.find((one) => one.id === accounts.activeId.value),
);

function anonymous(): Http {
  return new Http({ baseUrl: location.origin, deviceProofs: new WebDeviceProofs(localStorage, DEVICES_KEY) });
}

/** Without a connection, the session stays on the server until another device revokes it. */
async function endSession(tokens: Tokens | undefined): Promise<void> {
  const http = new Http({ baseUrl: location.origin, tokens: new MemoryTokenStore(tokens) });
  await http.auth.signOut().catch(() => undefined);
}

async function forgetDataOf(id: UserId): Promise<void> {
  tokensOf(id).set(undefined);
  Drafts.forget(localStorage, draftsKey(id));
  localStorage.removeItem(handoffKey(id));
  await IndexedDbStorage.delete(id).catch(() => undefined);
}

function tokensOf(id: UserId): WebTokenStore {
  return new WebTokenStore(localStorage, `godwit.tokens.${id}`);
}

function read(): KnownAccount[] {
  return JSON.parse(localStorage.getItem(ACCOUNTS_KEY) ?? "[]") as KnownAccount[];
}

/** The name of this browser in the list of devices. */
function deviceName(): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(navigator.userAgent)?.[1] ?? "Browser";
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(navigator.userAgent)?.[1] ?? "";
  const known: Record<string, string> = { Edg: "Edge", OPR: "Opera", "Mac OS X": "macOS" };
  return [browser, system].map((name) => known[name] ?? name).join(" · ");
}
