/**
 * Detects a server that is gone.
 *
 * The server sends pings, but browsers do not report them to the program. After one silent heartbeat interval, this sends a
 * `ping` command; after another silent interval, the server counts as gone. It never skips the ping, because timers of tabs
 * in the background may fire much too late.
 */

/** How long the server may take to answer a probe after, for example, a change of network. */
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
    /** Zero if the server sends no heartbeats. */
    private readonly intervalMs: number,
    private readonly port: HeartbeatPort,
  ) {
    if (intervalMs > 0) {
      this.arm(intervalMs);
    }
  }

  /** The server has sent something. */
  heard(): void {
    this.heardSinceTick = true;
  }

  /** Sends a ping now, with a short timeout. */
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
