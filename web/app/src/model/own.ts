/** What concerns the account alone: its profile, its stars, and what is only loaded when somebody looks at it. */

import type { AccountEntry, Http, Me, MessageId, User, UserId } from "@godwit/sdk";
import { signal } from "@preact/signals";

import type { People } from "./people.js";

/** Starred messages that are known by their ids, in pages of this size. */
const STARS_PAGE = 200;
const STARS_PAGES_MAX = 10;

/** Whose session it is, and who wants to know what becomes of it. */
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
  /** Counts the changes of what is only loaded when somebody looks at it. */
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

  /** The connection is there: what may have changed meanwhile is asked for. */
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
    const ids = new Set<MessageId>();
    let after: string | undefined;
    for (let page = 0; page < STARS_PAGES_MAX; page += 1) {
      const found = await this.http.personal.stars({
        limit: STARS_PAGE,
        ...(after === undefined ? {} : { after }),
      });
      found.messages.forEach((message) => ids.add(message.id));
      after = found.next ?? undefined;
      if (after === undefined) {
        break;
      }
    }
    this.starred.value = ids;
  }
}
