/** A server that answers requests with the responses of the test, and records them. */

import type { Problem } from "../../src/index.js";

export interface Request {
  method: string;
  path: string;
  query: string;
  authorization: string | null;
  body: unknown;
}

export type Handler = (request: Request, signal: AbortSignal) => Response | Promise<Response>;

export class FakeHttp {
  readonly requests: Request[] = [];

  constructor(private readonly handler: Handler) {}

  readonly fetch: typeof fetch = async (input, init = {}) => {
    const url = new URL(input as string);
    const request: Request = {
      method: init.method ?? "GET",
      path: url.pathname,
      query: url.search,
      authorization: new Headers(init.headers).get("authorization"),
      body: typeof init.body === "string" ? (JSON.parse(init.body) as unknown) : undefined,
    };
    this.requests.push(request);
    return await this.handler(request, init.signal ?? new AbortController().signal);
  };

  to(path: string): Request[] {
    return this.requests.filter((request) => request.path === path);
  }
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
}

export function refusal(details: Partial<Problem> & Pick<Problem, "code" | "status">): Response {
  return json(problem(details), details.status, { "content-type": "application/problem+json" });
}

export function problem(details: Partial<Problem> & Pick<Problem, "code" | "status">): Problem {
  return { type: `/docs/errors#${details.code}`, title: "refused", temporary: false, ...details };
}
