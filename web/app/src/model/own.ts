/** Data that only the user themselves sees: profile, stars, and lists that are loaded on demand. */

import type { AccountEntry, Http, Me, MessageId, User, UserId } from "@godwit/sdk";
import { signal } from "@preact/signals";

import { allOf } from "./pages.js";
import type { People } from "./people.js";

/** The owner of a session, with callbacks for changes of the account. */
export interface Owner {
  id: UserId;
  handle: string;
  name: string;
  onEnded(): void;
  onRenamed(handle: string, name: string): void;
}

export class Own {
  readonly me = signal<User & Partial<Me>>({ id: "", handle: "", display_name: "" });
  readonly starred = signal<ReadonlySet<MessageId>>(new Set());
  /** Counts changes of the scheduled messages, which are loaded on demand. */
  readonly scheduledChanges = signal(0);
  readonly deviceChanges = signal(0);

  constructor(
    private readonly account: Owner,
    private readonly http: Pick<Http, "accounts" | "personal">,
    private readonly people: People,
  ) {
    const { id, handle, name } = account;
    this.me.value = { id, handle, display_name: name };
    people.learn(this.me.value);
  }

  /** The connection is back: loads data that may have changed in the meantime. */
  load(): void {
    void this.loadMe();
    void this.loadStars().catch(() => undefined);
  }

  noted(entry: AccountEntry): void {
    switch (entry.type) {
      case "message_starred":
        this.starred.value = new Set([...this.starred.value, entry.message_id]);
        break;
      case "message_unstarred":
        this.starred.value = new Set([...this.starred.value].filter((id) => id !== entry.message_id));
        break;
      case "scheduled_updated":
      case "scheduled_gone":
        this.scheduledChanges.value += 1;
        break;
      case "profile_updated":
        void this.loadMe();
        break;
      case "device_added":
      case "device_removed":
        this.deviceChanges.value += 1;
        break;
      default:
        break;
    }
  }

  private async loadMe(): Promise<void> {
    const me = await this.http.accounts.me().catch(() => undefined);
    if (me) {
      this.me.value = me;
      this.people.learn(me);
      this.account.onRenamed(me.handle, me.display_name);
    }
  }

  private async loadStars(): Promise<void> {
    const messages = await allOf(async (page) => {
      const found = await this.http.personal.stars(page);
      return { ...found, items: found.messages };
    });
    this.starred.value = new Set(messages.map(({ id }) => id));
  }
}
