import { hueOf, initialsOf } from "../text/index.js";
import { Icon } from "./icon.js";

interface AvatarProps {
  id: string;
  name: string;
  group?: boolean;
  online?: boolean;
  size?: "small" | "large";
}

/** Initials on a fixed colour. External pictures are not loaded, because their server would learn who views them. */
export function Avatar({ id, name, group, online, size }: AvatarProps) {
  const initials = initialsOf(name);
  return (
    <span class={`avatar hue-${hueOf(id)} ${size ? `avatar-${size}` : ""}`} aria-hidden="true">
      {initials === "" ? <Icon name={group ? "people" : "person"} /> : initials}
      {online && <span class="avatar-online" />}
    </span>
  );
}
