/** What can go wrong between a client and a server. */

import type { ErrorCode, Problem } from "./api.js";
import type { Closed } from "./socket/closed.js";

const STATUS_TOO_MANY_REQUESTS = 429;
const STATUS_SERVER_ERROR_MIN = 500;
const MS_PER_SECOND = 1_000;

/** After one of these the server will not take the credentials again, whatever is asked. */
const ENDS_SESSION: ReadonlySet<string> = new Set<ErrorCode>([
  "unauthenticated",
  "token_expired",
  "refresh_reused",
  "account_disabled",
]);

export abstract class GodwitError extends Error {
  /** Whether the same request may succeed later. */
  abstract readonly temporary: boolean;
}

/** What is known of a refusal. Plain data, which can be stored. */
export type ProblemDetails = Omit<Problem, "code" | "type"> & { code: ErrorCode | "unknown" };

/** The server refused, and said why. */
export class ApiError extends GodwitError {
  override readonly name = "ApiError";
  /** What went wrong; `unknown` where something between here and the server spoke, and not the server. */
  readonly code: ErrorCode | "unknown";
  readonly status: number;
  readonly temporary: boolean;
  /** How long the server wants to be left alone. */
  readonly retryAfterMs: number;
  /** The field that is wrong, where one is. */
  readonly field: string | undefined;
  /** What is wrong in this case, for people. */
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

  /** The failure that a response with this status stands for, whoever made it. */
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

/** No answer came: the server could not be reached, or the connection broke. It may have done what was asked. */
export class TransportError extends GodwitError {
  override readonly name = "TransportError";
  readonly temporary = true;

  constructor(operation: string, cause: unknown) {
    super(`${operation}: cannot reach the server`, { cause });
  }
}

/** The server did not answer in time. It may have done what was asked. */
export class TimeoutError extends GodwitError {
  override readonly name = "TimeoutError";
  readonly temporary = true;

  constructor(operation: string) {
    super(`${operation}: timed out`);
  }
}

/** The answer is not what the protocol says. */
export class ProtocolError extends GodwitError {
  override readonly name = "ProtocolError";
  readonly temporary = false;
}

/** The socket is closed. The server may have done what was asked. */
export class SocketClosedError extends GodwitError {
  override readonly name = "SocketClosedError";
  readonly temporary = true;

  constructor(readonly closed: Closed) {
    super("the socket is closed");
  }
}

/** Nothing was sent, because too much waits already. */
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

/** The code with which the server refused, if it did. */
export function codeOf(error: unknown): ErrorCode | "unknown" | undefined {
  return error instanceof ApiError ? error.code : undefined;
}

/** How long the server wants to be left alone, in milliseconds. */
export function retryAfterMsOf(error: unknown): number {
  return error instanceof ApiError ? error.retryAfterMs : 0;
}

/** Whether the server will not take these credentials again. */
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
