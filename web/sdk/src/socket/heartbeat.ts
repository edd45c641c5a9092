/**
 * Notices a server that is not there any more.
 *
 * The server sends pings, but browsers do not show them to the program. So when nothing was heard for one heartbeat the
 * server is asked, and when nothing comes for another one it is gone. It is asked first in any case, because timers of
 * tabs in the background may fire much later than they should.
 */

/** How long the server has when there is reason to doubt that it is there, such as a change of network. */
const PROBE_WITHIN_MS = 5_000;

export interface HeartbeatPort {
  ask(): void;
  silent(): void;
}

export class Heartbeat {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private heardSinceTick = false;
  private asked = false;

  constructor(
    /** Zero where the server has no heartbeat. */
    private readonly intervalMs: number,
    private readonly port: HeartbeatPort,
  ) {
    if (intervalMs > 0) {
      this.arm(intervalMs);
    }
  }

  /** Anything came from the server. */
  heard(): void {
    this.heardSinceTick = true;
  }

  /** Asks now, and gives the server little time. */
  probe(): void {
    this.ask();
    this.arm(PROBE_WITHIN_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private tick(): void {
    if (this.heardSinceTick) {
      this.heardSinceTick = false;
      this.asked = false;
    } else if (this.asked) {
      this.port.silent();
      return;
    } else {
      this.ask();
    }
    if (this.intervalMs > 0) {
      this.arm(this.intervalMs);
    }
  }

  private ask(): void {
    this.asked = true;
    this.heardSinceTick = false;
    this.port.ask();
  }

  private arm(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.tick(), ms);
  }
}
