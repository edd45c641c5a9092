/**
 * Messages that are to be sent, until the server has acknowledged or refused them.
 *
 * A conversation has one on its way at a time, and the next one goes when that one is settled: so they arrive in the
 * order in which they were given, whatever has to be sent again. Sending again is safe, because the server knows the
 * client id. This is the book-keeping; it does no input or output.
 */

import type { ConversationId, SendMessage } from "../api.js";

/** Messages on their way at once, each in another conversation. */
const IN_FLIGHT_MAX = 16;

interface Lane {
  queue: SendMessage[];
  onItsWay: boolean;
  /** Failures in a row of the first one. */
  failures: number;
}

export class Outbox {
  private readonly lanes = new Map<ConversationId, Lane>();
  /** Lanes whose first message can go. */
  private ready: ConversationId[] = [];
  /** Lanes whose first message must wait before it goes again, and until when. */
  private readonly paused = new Map<ConversationId, number>();
  private flying = 0;

  get inFlight(): number {
    return this.flying;
  }

  push(id: ConversationId, message: SendMessage): void {
    const lane = this.lanes.get(id);
    if (lane) {
      lane.queue.push(message);
    } else {
      this.lanes.set(id, { queue: [message], onItsWay: false, failures: 0 });
      this.ready.push(id);
    }
  }

  /** The next message that can go. Its outcome must be reported. */
  next(now: number): { id: ConversationId; message: SendMessage } | undefined {
    this.unpause(now);
    while (this.flying < IN_FLIGHT_MAX) {
      const id = this.ready.shift();
      if (id === undefined) {
        return undefined;
      }
      const lane = this.lanes.get(id);
      const message = lane?.queue[0];
      if (lane && message && !lane.onItsWay) {
        lane.onItsWay = true;
        this.flying += 1;
        return { id, message };
      }
    }
    return undefined;
  }

  /** The message that was on its way is acknowledged, or refused for good. */
  settle(id: ConversationId): void {
    const lane = this.land(id);
    if (lane) {
      lane.queue.shift();
      lane.failures = 0;
      this.goOn(id, lane);
    }
  }

  /** The message that was on its way must go again; the time is chosen for the number of failures in a row. */
  retry(id: ConversationId, at: (failures: number) => number): void {
    const lane = this.land(id);
    if (lane) {
      lane.failures += 1;
      this.paused.set(id, at(lane.failures));
    }
  }

  /** Takes a message out that is not on its way. Says whether it did. */
  remove(id: ConversationId, clientId: string): boolean {
    const lane = this.lanes.get(id);
    const index = lane?.queue.findIndex((message) => message.client_id === clientId) ?? -1;
    if (!lane || index < 0 || (index === 0 && lane.onItsWay)) {
      return false;
    }
    lane.queue.splice(index, 1);
    if (lane.queue.length === 0) {
      this.paused.delete(id);
      this.lanes.delete(id);
    }
    return true;
  }

  /** Nothing is on its way any more: the connection is gone. All of it goes again, first of all. */
  disconnected(): void {
    const landed = [...this.lanes].filter(([, lane]) => lane.onItsWay);
    for (const [, lane] of landed) {
      lane.onItsWay = false;
    }
    this.ready = [...landed.map(([id]) => id), ...this.ready];
    this.flying = 0;
  }

  /** When the next message that waits may go. */
  nextAt(): number | undefined {
    return this.paused.size === 0 ? undefined : Math.min(...this.paused.values());
  }

  private land(id: ConversationId): Lane | undefined {
    const lane = this.lanes.get(id);
    if (!lane?.onItsWay) {
      return undefined;
    }
    lane.onItsWay = false;
    this.flying -= 1;
    return lane;
  }

  private goOn(id: ConversationId, lane: Lane): void {
    if (lane.queue.length === 0) {
      this.lanes.delete(id);
    } else {
      this.ready.push(id);
    }
  }

  private unpause(now: number): void {
    for (const [id, at] of this.paused) {
      if (at <= now) {
        this.paused.delete(id);
        this.ready.push(id);
      }
    }
  }
}
