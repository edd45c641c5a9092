import type { UserId } from "@godwit/sdk";
import type { ComponentChildren } from "preact";

import { useSession } from "../context.js";
import { nameOf } from "../names.js";
import { Line } from "./line.js";

interface PersonProps {
  id: UserId;
  detail?: string | undefined;
  children?: ComponentChildren;
}

/** A line with the name of a user, details and actions. */
export function Person(props: PersonProps) {
  return <Line {...props} name={nameOf(useSession(), props.id)} />;
}
