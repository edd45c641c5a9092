import { useRef } from "preact/hooks";

/** Longer than browsers wait that open a menu by themselves; where they do not, this does. */
const LONG_PRESS_MS = 650;
/** A finger that moves further is scrolling. */
const MOVED_PX = 10;

interface Press {
  timer: ReturnType<typeof setTimeout>;
  x: number;
  y: number;
  done: boolean;
}

interface LongPress {
  onTouchStart: (event: TouchEvent) => void;
  onTouchMove: (event: TouchEvent) => void;
  onTouchEnd: (event: TouchEvent) => void;
  onTouchCancel: () => void;
  /** The browser was first. */
  cancel: () => void;
}

/** Asks for the menu of what is pressed for long, as the other button of a mouse does. */
export function useLongPress(): LongPress {
  const press = useRef<Press>();
  const cancel = () => clearTimeout(press.current?.timer);
  return {
    onTouchStart: (event) => {
      cancel();
      const [touch] = event.touches;
      const target = event.currentTarget;
      if (!touch || event.touches.length > 1 || !target) {
        return;
      }
      const { clientX: x, clientY: y } = touch;
      const timer = setTimeout(() => {
        press.current = { timer, x, y, done: true };
        const asking = { clientX: x, clientY: y, bubbles: true, cancelable: true };
        target.dispatchEvent(new MouseEvent("contextmenu", asking));
      }, LONG_PRESS_MS);
      press.current = { timer, x, y, done: false };
    },
    onTouchMove: (event) => {
      const [touch] = event.touches;
      const from = press.current;
      if (touch && from && Math.hypot(touch.clientX - from.x, touch.clientY - from.y) > MOVED_PX) {
        cancel();
      }
    },
    onTouchEnd: (event) => {
      cancel();
      if (press.current?.done) {
        // Else the finger that lets go would also click what is below.
        event.preventDefault();
        press.current = undefined;
      }
    },
    onTouchCancel: cancel,
    cancel,
  };
}
