/** Signs in again on an open socket before its token expires. */

import type { SignedInSocket, Timestamp } from "../api.js";
import { endsSession } from "../errors.js";
import type { Http } from "../http/index.js";
import { monotonicMs } from "../time.js";
import { type CommandGiver, isDue } from "./commands.js";
import { endedByError } from "./ended.js";
import { type SignIn, signInAgain } from "./link.js";

/** A token is replaced this long before it expires, or after four fifths of its lifetime if that is later. */
const RENEW_BEFORE_MS_MAX = 60_000;
const RENEW_BEFORE_PART = 1 / 5;
/** The minimum time between two renewals, whatever lifetime the server announces. */
const RENEW_EVERY_MS_MIN = 1_000;

export class Renewal {
  private readonly clock: ServerClock;
  private at: number | undefined;

  constructor(
    private readonly http: Http,
    private readonly giver: CommandGiver,
    private accessToken: string,
    signedIn: SignedInSocket,
  ) {
    this.clock = new ServerClock(giver.socket.hello.server_time);
    this.plan(signedIn);
  }

  /** The next deadlines. */
  times(): (number | undefined)[] {
    return [this.at];
  }

  begin(now: number): void {
    if (!isDue(this.at, now)) {
      return;
    }
    this.at = undefined;
    const outcome = this.giver.unlessOver<SignIn | undefined>({
      ok: (signIn) => {
        // Otherwise the application will set another token, or the server will close the socket.
        if (signIn) {
          this.accessToken = signIn.accessToken;
          this.plan(signIn.signedIn);
        }
      },
      failed: (error) => {
        if (endsSession(error)) {
          this.giver.port.end(endedByError(error));
        } else {
          this.at = monotonicMs() + this.giver.pauseMs(1, error);
        }
      },
    });
    signInAgain(this.http, this.giver.socket, this.accessToken).then(outcome.ok, outcome.failed);
  }

  /** Computes when the token must be replaced. */
  private plan({ expires_at: expiresAt }: SignedInSocket): void {
    const leftMs = this.clock.untilMs(expiresAt);
    const earlyMs = Math.min(leftMs * RENEW_BEFORE_PART, RENEW_BEFORE_MS_MAX);
    this.at = monotonicMs() + Math.max(leftMs - earlyMs, RENEW_EVERY_MS_MIN);
  }
}

/** The time of the server's clock, because the local one may be wrong. */
class ServerClock {
  private readonly at = monotonicMs();

  constructor(private readonly told: Timestamp) {}

  /** Milliseconds until the server's clock reaches this time; 0 if it already has. */
  untilMs(time: Timestamp): number {
    const fromThen = Date.parse(time) - Date.parse(this.told);
    return Math.max(0, fromThen - (monotonicMs() - this.at));
  }
}
