/** Signing in again on an open socket, before the token expires with which it is signed in. */

import type { SignedInSocket, Timestamp } from "../api.js";
import { endsSession } from "../errors.js";
import type { Http } from "../http/index.js";
import { monotonicMs } from "../time.js";
import { type CommandGiver, isDue } from "./commands.js";
import { endedByError } from "./ended.js";
import { type SignIn, signInAgain } from "./link.js";

/** A token is replaced this long before it expires, or a fifth of its life if that is less. */
const RENEW_BEFORE_MS_MAX = 60_000;
const RENEW_BEFORE_PART = 1 / 5;
/** Tokens are not replaced more often than this, whatever the server says about their life. */
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

  /** When something is due. */
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
        // Without another token the application will give one, or the server will close the socket.
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

  /** Notes when the token must be replaced. */
  private plan({ expires_at: expiresAt }: SignedInSocket): void {
    const leftMs = this.clock.untilMs(expiresAt);
    const earlyMs = Math.min(leftMs * RENEW_BEFORE_PART, RENEW_BEFORE_MS_MAX);
    this.at = monotonicMs() + Math.max(leftMs - earlyMs, RENEW_EVERY_MS_MIN);
  }
}

/** What the server's clock shows: the own one may be wrong. */
class ServerClock {
  private readonly at = monotonicMs();

  constructor(private readonly told: Timestamp) {}

  /** Milliseconds until the server's clock shows this time; 0 if it does already. */
  untilMs(time: Timestamp): number {
    const fromThen = Date.parse(time) - Date.parse(this.told);
    return Math.max(0, fromThen - (monotonicMs() - this.at));
  }
}
