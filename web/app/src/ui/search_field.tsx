import { t, type Key } from "../i18n/index.js";
import { Icon } from "./icon.js";

/** The server refuses longer queries. */
const QUERY_CHARS_MAX = 64;

interface SearchFieldProps {
  label: Key;
  value: string;
  onChange: (query: string) => void;
  id?: string;
  onKeyDown?: (event: KeyboardEvent) => void;
}

export function SearchField({ label, value, onChange, id, onKeyDown }: SearchFieldProps) {
  return (
    <div class="search">
      <Icon name="search" />
      <input
        id={id}
        type="search"
        placeholder={t(label)}
        aria-label={t(label)}
        value={value}
        maxLength={QUERY_CHARS_MAX}
        onInput={(event) => onChange(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
    </div>
  );
}
