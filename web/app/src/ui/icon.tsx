/** The icons, as SVG paths in a 24×24 box. */

const PATHS = {
  back: "M15 5l-7 7 7 7",
  close: "M6 6l12 12M18 6L6 18",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM16 16l4.5 4.5",
  plus: "M12 5v14M5 12h14",
  compose: "M4 20h4L19 9l-4-4L4 16v4ZM13 7l4 4",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  send: "M4 12 20 4l-5 16-4-7-7-1ZM11 13l9-9",
  emoji: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM8.5 14.5c2 2.3 5 2.3 7 0M9 9.5h.01M15 9.5h.01",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3.5 2",
  down: "M6 9l6 6 6-6",
  up: "M6 15l6-6 6 6",
  reply: "M10 8 5 12l5 4M5 12h9a5 5 0 0 1 5 5v1",
  forward: "M14 8l5 4-5 4M19 12h-9a5 5 0 0 0-5 5v1",
  copy: "M9 9h10v11H9ZM15 9V4H5v11h4",
  edit: "M4 20h4L19 9l-4-4L4 16v4Z",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  pin: "M9 4h6l-1 6 3 3v2H7v-2l3-3-1-6ZM12 15v6",
  star: "M12 4l2.5 5.2 5.5.8-4 4 1 5.7-5-2.8-5 2.8 1-5.7-4-4 5.5-.8Z",
  mute: "M6 9v6h3l5 4V5L9 9H6ZM17 10l4 4M21 10l-4 4",
  bell: "M6 17V11a6 6 0 1 1 12 0v6l2 1H4l2-1ZM10 20a2 2 0 0 0 4 0",
  archive: "M4 5h16v4H4ZM6 9v10h12V9M10 13h4",
  unread: "M4 6h16v11H9l-5 4V6ZM12 11.5h.01",
  check: "M5 12.5l4.5 4.5L19 7.5",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 11v5M12 8h.01",
  people:
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM2.5 20a6.5 6.5 0 0 1 13 0M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14a6.5 6.5 0 0 1 3.5 6",
  person: "M12 11.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.5 20.5a7.5 7.5 0 0 1 15 0",
  settings:
    "M4 7h10M18 7h2M4 17h2M10 17h10M16 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM8 19a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  leave: "M14 5H5v14h9M10 12h10M17 8.5l3.5 3.5-3.5 3.5",
  device: "M4 5h16v11H4ZM9 20h6M12 16v4",
  history: "M4 12a8 8 0 1 0 2.5-5.8L4 8.5M4 4v4.5h4.5M12 8v4.5l3 1.8",
  keyboard: "M3 7h18v10H3ZM7 10.5h.01M11 10.5h.01M15 10.5h.01M8 13.8h8",
  alert: "M12 4 2.5 20h19L12 4ZM12 10v5M12 17.5h.01",
  thread: "M5 5h14v10H9l-4 4V5ZM9 8.7h6M9 11.5h4",
  retry: "M20 12a8 8 0 1 1-2.5-5.8L20 8.5M20 4v4.5h-4.5",
} as const;

export type IconName = keyof typeof PATHS;

/** Hidden from screen readers: the button around the icon has a label. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick: (event: MouseEvent) => void;
  class?: string;
  disabled?: boolean;
  expanded?: boolean;
  tabIndex?: number;
}

export function IconButton(props: IconButtonProps) {
  return (
    <button
      type="button"
      class={`icon-button ${props.class ?? ""}`}
      aria-label={props.label}
      title={props.label}
      disabled={props.disabled ?? false}
      aria-expanded={props.expanded}
      tabIndex={props.tabIndex}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}
