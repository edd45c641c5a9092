import { createContext } from "preact";
import { useContext } from "preact/hooks";

import type { Session } from "../model/index.js";

export const SessionContext = createContext<Session | undefined>(undefined);

/** The session that the component belongs to. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) {
    throw new Error("this component was rendered without a session");
  }
  return session;
}
