import type { User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { useSession } from "./context.js";

/** The delay after the last keystroke. */
const SEARCH_AFTER_MS = 200;
const PEOPLE_MAX = 20;

/** Users whose name or handle matches the query; `undefined` before the first response. */
export function usePeopleSearch(query: string): readonly User[] | undefined {
  const session = useSession();
  const found = useSignal<readonly User[] | undefined>(undefined);
  useEffect(() => {
    const given = new AbortController();
    const asked = query.trim().replace(/^@/, "");
    if (asked === "") {
      found.value = undefined;
      return;
    }
    const timer = setTimeout(() => {
      session.http.people
        .search(asked, { limit: PEOPLE_MAX }, { signal: given.signal })
        .then(({ users }) => {
          session.people.learn(...users);
          found.value = users;
        })
        // Aborted by further typing, or no connection: keeps the previous results.
        .catch(() => undefined);
    }, SEARCH_AFTER_MS);
    return () => {
      clearTimeout(timer);
      given.abort();
    };
  }, [query]);
  return found.value;
}
