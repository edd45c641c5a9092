/** Runs the work once, shortly after the first of many calls, so that a thousand updates cause one render. */
export function coalesced(work: () => void): () => void {
  let due = false;
  return () => {
    if (!due) {
      due = true;
      setTimeout(() => {
        due = false;
        work();
      }, 0);
    }
  };
}
