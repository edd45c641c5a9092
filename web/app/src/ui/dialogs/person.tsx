import type { UserId } from "@godwit/sdk";
import type { ComponentChildren } from "preact";

import { Avatar } from "../avatar.js";
import { useSession } from "../context.js";
import { nameOf } from "../names.js";

interface PersonProps {
  id: UserId;
  detail?: string | undefined;
  children?: ComponentChildren;
}

/** A line with somebody's name, and what there is to say or do beside it. */
export function Person({ id, detail, children }: PersonProps) {
  const session = useSession();
  const name = nameOf(session, id);
  return (
    <li class="line">
      <Avatar id={id} name={name} size="small" />
      <span class="line-main">
        <bdi>{name}</bdi>
        {detail !== undefined && <span class="quiet-text">{detail}</span>}
      </span>
      {children}
    </li>
  );
}
