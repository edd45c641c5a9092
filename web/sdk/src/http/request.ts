/** The parts that all requests share: address, token, timeout, status, body. */

import { ApiError, codeOf, ProtocolError, TimeoutError, TransportError } from "../errors.js";
import type { paths } from "../generated/api.js";

export const REQUEST_TIMEOUT_MS = 30_000;
const STATUS_CREATED = 201;
const STATUS_NO_CONTENT = 204;

export type Method = "get" | "put" | "post" | "patch" | "delete";

/** The types of a route; `never` if the documents do not have it. */
type Route<M extends Method, P extends keyof paths> = paths[P] extends Record<M, infer R> ? R : never;

type PathOf<R> = R extends { parameters: { path: infer V } } ? { path: V } : { path?: never };
type QueryOf<R> = R extends { parameters: { query: infer V } }
  ? { query: V }
  : R extends { parameters: { query?: infer V } }
    ? { query?: V }
    : never;
type BodyOf<R> = R extends { requestBody: { content: { "application/json": infer V } } }
  ? { body: V }
  : { body?: never };

export type Input<M extends Method, P extends keyof paths> = PathOf<Route<M, P>> &
  QueryOf<Route<M, P>> &
  BodyOf<Route<M, P>>;

type ContentOf<A> = A extends { content: { "application/json": infer V } }
  ? V
  : A extends { content: { "text/plain": infer V } }
    ? V
    : undefined;
type AnswersOf<R> = R extends { responses: infer A } ? ContentOf<A[keyof A & (200 | 201 | 204)]> : never;
export type Output<M extends Method, P extends keyof paths> = AnswersOf<Route<M, P>>;

export interface RequestOptions {
  /** Aborts the request. The server may execute it nevertheless. */
  signal?: AbortSignal;
}

/** A value that a request created, or that existed before. */
export interface Created<T> {
  value: T;
  /** `false` if the value existed before. */
  isNew: boolean;
}

/** The source of a request's token. */
export interface Authorization {
  readonly accessToken: string | undefined;
  /** An access token that is not `stale`; `undefined` if there is no way to get one. */
  renew(stale: string): Promise<string | undefined>;
}

export interface TransportConfig {
  baseUrl: string;
  fetch: typeof fetch;
  timeoutMs: number;
}

interface Answer {
  status: number;
  body: unknown;
}

interface AnyInput {
  path?: Record<string, string | number>;
  query?: object;
  body?: unknown;
}

export class Transport {
  constructor(
    private readonly config: TransportConfig,
    private readonly authorization: Authorization | undefined,
  ) {}

  /** The same transport with another source of tokens. */
  with(authorization: Authorization): Transport {
    return new Transport(this.config, authorization);
  }

  async call<M extends Method, P extends keyof paths>(
    method: M,
    path: P,
    input: Input<M, P>,
    options: RequestOptions = {},
  ): Promise<Output<M, P>> {
    const answer = await this.exchange(method, path, input as AnyInput, options);
    return answer.body as Output<M, P>;
  }

  async callCreated<M extends Method, P extends keyof paths>(
    method: M,
    path: P,
    input: Input<M, P>,
    options: RequestOptions = {},
  ): Promise<Created<Output<M, P>>> {
    const answer = await this.exchange(method, path, input as AnyInput, options);
    return { value: answer.body as Output<M, P>, isNew: answer.status === STATUS_CREATED };
  }

  /** Retries a request once with a fresh token if the server refuses it because the token has expired. */
  private async exchange(
    method: Method,
    path: string,
    input: AnyInput,
    options: RequestOptions,
  ): Promise<Answer> {
    const token = this.authorization?.accessToken;
    try {
      return await this.once(method, path, input, options, token);
    } catch (error) {
      if (codeOf(error) !== "token_expired" || token === undefined) {
        throw error;
      }
      const fresh = await this.authorization?.renew(token);
      if (fresh === undefined) {
        throw error;
      }
      return await this.once(method, path, input, options, fresh);
    }
  }

  private async once(
    method: Method,
    path: string,
    input: AnyInput,
    options: RequestOptions,
    token: string | undefined,
  ): Promise<Answer> {
    const operation = `${method.toUpperCase()} ${path}`;
    const headers = new Headers({ accept: "application/json" });
    if (token !== undefined) {
      headers.set("authorization", `Bearer ${token}`);
    }
    const init: RequestInit = { method: method.toUpperCase(), headers };
    if (input.body !== undefined) {
      headers.set("content-type", "application/json");
      init.body = JSON.stringify(input.body);
    }
    const url = this.config.baseUrl + filled(path, input.path) + queryString(input.query);
    return await this.within(operation, options.signal, async (signal) => {
      const response = await this.config.fetch(url, { ...init, signal });
      const body = response.status === STATUS_NO_CONTENT ? undefined : await readBody(response, operation);
      if (!response.ok) {
        throw ApiError.ofResponse(response.status, body, response.headers.get("retry-after"));
      }
      return { status: response.status, body };
    });
  }

  /** Aborts the work on a timeout, or when the caller aborts it. */
  private async within<T>(
    operation: string,
    given: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    given?.throwIfAborted();
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(new TimeoutError(operation)), this.config.timeoutMs);
    const giveUp = () => controller.abort(given?.reason);
    given?.addEventListener("abort", giveUp);
    try {
      return await work(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) {
        throw controller.signal.reason;
      }
      throw error instanceof ApiError || error instanceof ProtocolError
        ? error
        : new TransportError(operation, error);
    } finally {
      clearTimeout(timer);
      given?.removeEventListener("abort", giveUp);
    }
  }
}

/** Errors may have any body. Successful responses have JSON unless they are text. */
async function readBody(response: Response, operation: string): Promise<unknown> {
  const text = await response.text();
  if (!/\bjson\b/.test(response.headers.get("content-type") ?? "")) {
    return text;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ProtocolError(`${operation}: cannot read the response`, { cause });
  }
}

function filled(template: string, values: Record<string, string | number> = {}): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
}

function queryString(query: object = {}): string {
  const present = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(present.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}
