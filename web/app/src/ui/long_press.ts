import { useRef } from "preact/hooks";

/** Longer than the long press of browsers that open the context menu themselves. Others need this one. */
const LONG_PRESS_MS = 650;
/** A finger that moves further than this is scrolling. */
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
  /** To be called when the browser opens the menu itself. */
  cancel: () => void;
}

/** Fires a context-menu event after a long press. */
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
        // Otherwise lifting the finger would click the element below.
        event.preventDefault();
        press.current = undefined;
      }
    },
    onTouchCancel: cancel,
    cancel,
  };
}
