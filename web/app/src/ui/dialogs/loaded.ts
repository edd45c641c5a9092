import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { attempt } from "../../model/tasks.js";

interface Loaded<T> {
  /** `undefined` until it is loaded. */
  value: T | undefined;
  reload: () => void;
}

/** Loads data from the server when the dialog opens and whenever `deps` change. */
export function useLoaded<T>(load: () => Promise<T>, deps: readonly unknown[]): Loaded<T> {
  const value = useSignal<T | undefined>(undefined);
  const turn = useSignal(0);
  useEffect(() => {
    let wanted = true;
    void attempt(load()).then((found) => {
      if (wanted && found) {
        value.value = found.value;
      }
    });
    return () => {
      wanted = false;
    };
  }, [turn.value, ...deps]);
  return { value: value.value, reload: () => (turn.value += 1) };
}
