/** The errors of a client. */

import type { ErrorCode, Problem } from "./api.js";
import type { Closed } from "./socket/closed.js";

const STATUS_TOO_MANY_REQUESTS = 429;
const STATUS_SERVER_ERROR_MIN = 500;
const MS_PER_SECOND = 1_000;

/** After one of these codes, the server will never accept the credentials again. */
const ENDS_SESSION: ReadonlySet<string> = new Set<ErrorCode>([
  "unauthenticated",
  "token_expired",
  "refresh_reused",
  "account_disabled",
]);

export abstract class GodwitError extends Error {
  /** Whether a retry of the same request may succeed later. */
  abstract readonly temporary: boolean;
}

/** The problem document of a refusal. Plain data that can be stored. */
export type ProblemDetails = Omit<Problem, "code" | "type"> & { code: ErrorCode | "unknown" };

/** The server refused the request. */
export class ApiError extends GodwitError {
  override readonly name = "ApiError";
  /** The error code; `unknown` if the response did not come from the server itself, but for example from a proxy. */
  readonly code: ErrorCode | "unknown";
  readonly status: number;
  readonly temporary: boolean;
  /** How long the server asks the client to wait before a retry. */
  readonly retryAfterMs: number;
  /** The invalid field, if there is one. */
  readonly field: string | undefined;
  /** A human-readable explanation. */
  readonly detail: string | undefined;

  constructor(readonly problem: ProblemDetails) {
    const text = problem.detail ?? problem.title;
    super(problem.field ? `${problem.code} (${problem.field}): ${text}` : `${problem.code}: ${text}`);
    this.code = problem.code;
    this.status = problem.status;
    this.temporary = problem.temporary;
    this.retryAfterMs = (problem.retry_after ?? 0) * MS_PER_SECOND;
    this.field = problem.field ?? undefined;
    this.detail = problem.detail ?? undefined;
  }

  /** The error for a response with this status, from the server or from a proxy. */
  static ofResponse(status: number, body: unknown, retryAfterHeader: string | null): ApiError {
    if (isProblem(body)) {
      return new ApiError(body);
    }
    const seconds = Number(retryAfterHeader ?? 0);
    return new ApiError({
      code: "unknown",
      title: `status ${status}`,
      status,
      temporary: status >= STATUS_SERVER_ERROR_MIN || status === STATUS_TOO_MANY_REQUESTS,
      retry_after: Number.isFinite(seconds) ? seconds : 0,
    });
  }
}

/** No response: the server was not reachable, or the connection broke. The server may have executed the request. */
export class TransportError extends GodwitError {
  override readonly name = "TransportError";
  readonly temporary = true;

  constructor(operation: string, cause: unknown) {
    super(`${operation}: cannot reach the server`, { cause });
  }
}

/** The server did not answer in time. It may have executed the request. */
export class TimeoutError extends GodwitError {
  override readonly name = "TimeoutError";
  readonly temporary = true;

  constructor(operation: string) {
    super(`${operation}: timed out`);
  }
}

/** The response violates the protocol. */
export class ProtocolError extends GodwitError {
  override readonly name = "ProtocolError";
  readonly temporary = false;
}

/** The socket is closed. The server may have executed the request. */
export class SocketClosedError extends GodwitError {
  override readonly name = "SocketClosedError";
  readonly temporary = true;

  constructor(readonly closed: Closed) {
    super("the socket is closed");
  }
}

/** A queue is full, so the request was not sent. */
export class BusyError extends GodwitError {
  override readonly name = "BusyError";
  readonly temporary = true;
}

/** There is no token to sign in with. */
export class NotSignedInError extends GodwitError {
  override readonly name = "NotSignedInError";
  readonly temporary = false;

  constructor() {
    super("not signed in");
  }
}

/** The error code, if the server refused the request. */
export function codeOf(error: unknown): ErrorCode | "unknown" | undefined {
  return error instanceof ApiError ? error.code : undefined;
}

/** How long the server asks the client to wait before a retry, in milliseconds. */
export function retryAfterMsOf(error: unknown): number {
  return error instanceof ApiError ? error.retryAfterMs : 0;
}

/** Whether the server will never accept these credentials again. */
export function endsSession(error: unknown): boolean {
  return error instanceof NotSignedInError || (error instanceof ApiError && ENDS_SESSION.has(error.code));
}

export function isProblem(value: unknown): value is Problem {
  return (
    typeof value === "object" &&
    value !== null &&
    "code" in value &&
    typeof value.code === "string" &&
    "status" in value &&
    typeof value.status === "number"
  );
}
