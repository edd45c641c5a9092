/**
 * Messages to send, until the server has acknowledged or refused them.
 *
 * Each conversation has at most one message in flight, and the next one is sent after that one is settled, so messages
 * arrive in order despite retries. A retry is safe, because the server deduplicates by client id. This module does no I/O.
 */

import type { ConversationId, SendMessage } from "../api.js";

/** Messages in flight, each in another conversation. */
const IN_FLIGHT_MAX = 16;

interface Lane {
  queue: SendMessage[];
  onItsWay: boolean;
  /** Consecutive failures of the first message. */
  failures: number;
}

export class Outbox {
  private readonly lanes = new Map<ConversationId, Lane>();
  /** Lanes whose first message can be sent. */
  private ready: ConversationId[] = [];
  /** Lanes whose first message waits for its retry, with the time of the retry. */
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

  /** The next message to send. The caller must report its outcome. */
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

  /** The message in flight is acknowledged, or refused for good. */
  settle(id: ConversationId): void {
    const lane = this.land(id);
    if (lane) {
      lane.queue.shift();
      lane.failures = 0;
      this.goOn(id, lane);
    }
  }

  /** The message in flight must be retried, at the time that `at` chooses for the number of consecutive failures. */
  retry(id: ConversationId, at: (failures: number) => number): void {
    const lane = this.land(id);
    if (lane) {
      lane.failures += 1;
      this.paused.set(id, at(lane.failures));
    }
  }

  /** Removes a message that is not in flight. Returns whether it did. */
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

  /** The connection is gone: all messages in flight are retried first. */
  disconnected(): void {
    const landed = [...this.lanes].filter(([, lane]) => lane.onItsWay);
    for (const [, lane] of landed) {
      lane.onItsWay = false;
    }
    this.ready = [...landed.map(([id]) => id), ...this.ready];
    this.flying = 0;
  }

  /** When the next waiting message may be sent. */
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
