import { hueOf, initialsOf } from "../text/index.js";
import { Icon } from "./icon.js";

interface AvatarProps {
  id: string;
  name: string;
  group?: boolean;
  online?: boolean;
  size?: "small" | "large";
}

/** Initials on a colour that stays the same. Pictures from elsewhere would tell their server who looks, so none are loaded. */
export function Avatar({ id, name, group, online, size }: AvatarProps) {
  const initials = initialsOf(name);
  return (
    <span class={`avatar hue-${hueOf(id)} ${size ? `avatar-${size}` : ""}`} aria-hidden="true">
      {initials === "" ? <Icon name={group ? "people" : "person"} /> : initials}
      {online && <span class="avatar-online" />}
    </span>
  );
}
