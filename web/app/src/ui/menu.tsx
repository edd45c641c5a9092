/** Context menus, at the pointer or beside the focused element. One is open at a time. */

import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { QUICK_REACTIONS } from "../text/index.js";
import { t } from "../i18n/index.js";
import { Icon, type IconName } from "./icon.js";

export interface MenuItem {
  label: string;
  icon: IconName;
  onSelect: () => void;
  danger?: boolean;
}

interface OpenMenu {
  label: string;
  x: number;
  y: number;
  items: MenuItem[];
  offers: MenuOffers;
  opener: Element | null;
}

interface MenuOffers {
  /** Shows the quick reactions above the items. */
  onReact?: ((reaction: string) => void) | undefined;
  /** The part that gets the focus. Default: the items. */
  first?: "reactions" | undefined;
}

const openMenu = signal<OpenMenu | undefined>(undefined);

/** Opens a menu at the pointer, or below the element if the keyboard opened it. */
export function showMenu(event: Event, label: string, items: MenuItem[], offers: MenuOffers = {}): void {
  event.preventDefault();
  event.stopPropagation();
  const target = event.currentTarget instanceof Element ? event.currentTarget : null;
  const box = target?.getBoundingClientRect();
  const pointer = event instanceof MouseEvent && event.clientX + event.clientY > 0 ? event : undefined;
  openMenu.value = {
    label,
    x: pointer?.clientX ?? box?.left ?? 0,
    y: pointer?.clientY ?? box?.bottom ?? 0,
    items,
    offers,
    opener: document.activeElement,
  };
}

export function closeMenu(): void {
  const opener = openMenu.value?.opener;
  openMenu.value = undefined;
  if (opener instanceof HTMLElement) {
    opener.focus();
  }
}

const EDGE_PX = 8;

export function Menu() {
  const menu = openMenu.value;
  const element = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    const box = element.current;
    if (!menu || !box) {
      return;
    }
    const left = Math.max(EDGE_PX, Math.min(menu.x, window.innerWidth - box.offsetWidth - EDGE_PX));
    const top = Math.max(EDGE_PX, Math.min(menu.y, window.innerHeight - box.offsetHeight - EDGE_PX));
    box.style.left = `${left}px`;
    box.style.top = `${top}px`;
    const first = menu.offers.first === "reactions" ? ".menu-reaction" : ".menu-item";
    box.querySelector<HTMLElement>(first)?.focus();
  }, [menu]);

  useEffect(() => {
    const outside = (event: Event) => {
      if (event.target instanceof Node && !element.current?.contains(event.target)) {
        openMenu.value = undefined;
      }
    };
    document.addEventListener("pointerdown", outside);
    window.addEventListener("resize", closeMenu);
    return () => {
      document.removeEventListener("pointerdown", outside);
      window.removeEventListener("resize", closeMenu);
    };
  }, []);

  if (!menu) {
    return null;
  }
  const choose = (action: () => void) => {
    closeMenu();
    action();
  };
  const { onReact } = menu.offers;
  return (
    <div ref={element} class="menu" role="menu" aria-label={menu.label} onKeyDown={onMenuKey}>
      {onReact && (
        <div class="menu-reactions" role="group" aria-label={t("message.react")}>
          {QUICK_REACTIONS.map((reaction) => (
            <button
              key={reaction}
              type="button"
              role="menuitem"
              class="menu-reaction"
              aria-label={t("message.react_with", { reaction })}
              tabIndex={-1}
              onClick={() => choose(() => onReact(reaction))}
            >
              {reaction}
            </button>
          ))}
        </div>
      )}
      {menu.items.map((item) => (
        <button
          key={item.label}
          type="button"
          role="menuitem"
          tabIndex={-1}
          class={`menu-item ${item.danger ? "danger" : ""}`}
          onClick={() => choose(item.onSelect)}
        >
          <Icon name={item.icon} />
          <span>{item.label}</span>
        </button>
      ))}
    </div>
  );
}

function onMenuKey(event: KeyboardEvent): void {
  const menu = event.currentTarget;
  if (!(menu instanceof HTMLElement)) {
    return;
  }
  const items = [...menu.querySelectorAll<HTMLElement>("[role=menuitem]")];
  const index = items.findIndex((item) => item === document.activeElement);
  const steps: Record<string, number> = {
    ArrowDown: index + 1,
    ArrowRight: index + 1,
    ArrowUp: index - 1,
    ArrowLeft: index - 1,
    Home: 0,
    End: -1,
  };
  const step = steps[event.key];
  if (step !== undefined) {
    event.preventDefault();
    items.at(step % items.length)?.focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    event.preventDefault();
    event.stopPropagation();
    closeMenu();
  }
}
