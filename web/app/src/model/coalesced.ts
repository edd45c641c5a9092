/** Does the work once, a moment after the first of many calls: a thousand updates are one picture. */
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
