import type { User } from "@godwit/sdk";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { useSession } from "./context.js";

/** After the last keystroke. */
const SEARCH_AFTER_MS = 200;
const PEOPLE_MAX = 20;

/** People whose name or handle begins like this, a moment after it was typed; `undefined` before any answer. */
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
        // Typed on, or no connection: what was found before stays.
        .catch(() => undefined);
    }, SEARCH_AFTER_MS);
    return () => {
      clearTimeout(timer);
      given.abort();
    };
  }, [query]);
  return found.value;
}
