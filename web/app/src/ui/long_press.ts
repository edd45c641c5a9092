import { useRef } from "preact/hooks";

/** Longer than browsers wait that open a menu by themselves; where they do not, this does. */
const LONG_PRESS_MS = 650;
/** A finger that moves further is scrolling. */
const MOVED_PX = 10;

interface LongPress {
  onTouchStart: (event: TouchEvent) => void;
  onTouchMove: (event: TouchEvent) => void;
  onTouchEnd: (event: TouchEvent) => void;
  onTouchCancel: () => void;
  /** The browser was first. */
  cancel: () => void;
}

/** Calls with where it was pressed. */
export function useLongPress(onLong: (x: number, y: number) => void): LongPress {
  const press = useRef<{ timer: ReturnType<typeof setTimeout>; x: number; y: number; done: boolean }>();
  const cancel = () => clearTimeout(press.current?.timer);
  return {
    onTouchStart: (event) => {
      cancel();
      const [touch] = event.touches;
      if (!touch || event.touches.length > 1) {
        return;
      }
      const { clientX: x, clientY: y } = touch;
      const timer = setTimeout(() => {
        if (press.current) {
          press.current.done = true;
        }
        onLong(x, y);
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
        press.current.done = false;
      }
    },
    onTouchCancel: cancel,
    cancel,
  };
}
