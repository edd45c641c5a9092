/**
 * The scroll position of a history, kept stable while messages are added and removed (scroll anchoring).
 *
 * The row at the top of the view is the anchor: after each change it is moved back to its place. Browsers with built-in
 * scroll anchoring do this better, because they handle a scroll in progress, but not at the very top. At the very end, the
 * history follows new messages instead.
 */

/** A scroll position this close to the end counts as the end. */
const END_PX = 48;
/** With fewer rows than this above or below the view, more are loaded, so that users rarely reach the edge. */
const ROWS_AROUND = 40;
const KEEPS_PLACE = CSS.supports("overflow-anchor", "auto");

interface Anchor {
  key: string;
  /** The distance from the top of the view. */
  offsetPx: number;
}

export class Scrolling {
  atEnd = true;
  private anchor: Anchor | undefined;
  /** The last row and the height when the rows last changed. */
  private end = "";

  constructor(private readonly scroller: HTMLElement) {}

  /** Records the scroll position after a scroll or a restore. */
  note(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.atEnd = scrollHeight - scrollTop - clientHeight < END_PX;
    const rows = this.rows();
    const first = rows[firstBelow(rows, scrollTop)];
    const key = first?.dataset.key;
    this.anchor = first && key !== undefined ? { key, offsetPx: first.offsetTop - scrollTop } : undefined;
  }

  /** Restores the scroll position after the rows have changed. */
  restore(mayFollow: boolean): void {
    const end = this.lookOfEnd();
    if (this.atEnd && mayFollow) {
      // Rows also re-render for other reasons. A user who scrolls up a little must not be pulled back.
      if (end !== this.end) {
        this.toEnd();
      }
    } else if (this.anchor && !(KEEPS_PLACE && this.scroller.scrollTop > 0)) {
      const row = this.row(this.anchor.key);
      if (row) {
        this.scroller.scrollTop = row.offsetTop - this.anchor.offsetPx;
      }
    }
    this.end = end;
    this.note();
  }

  toEnd(): void {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.atEnd = true;
  }

  /** Scrolls a row into view, a third from the top. Returns whether the row exists. */
  toRow(key: string): boolean {
    const row = this.row(key);
    if (row) {
      this.show(row);
    }
    return row !== undefined;
  }

  /** Scrolls a message into view and focuses it, because the element that led to it may be gone. */
  toMessage(id: string): void {
    const row = this.rows().find((one) => one.dataset.id === id);
    if (row) {
      this.show(row);
      row.focus({ preventScroll: true });
    }
  }

  get nearStart(): boolean {
    const row = this.rows()[ROWS_AROUND];
    return !row || row.offsetTop > this.scroller.scrollTop;
  }

  get nearEnd(): boolean {
    const row = this.rows().at(-ROWS_AROUND);
    return !row || row.offsetTop < this.scroller.scrollTop + this.scroller.clientHeight;
  }

  /** The `seq` of the last visible message. */
  lastSeenSeq(): number | undefined {
    const rows = this.rows();
    const bottom = firstBelow(rows, this.scroller.scrollTop + this.scroller.clientHeight - 1);
    const seen = rows.slice(0, bottom + 1).findLast((row) => row.dataset.seq !== undefined);
    return seen && Number(seen.dataset.seq);
  }

  private show(row: HTMLElement): void {
    this.scroller.scrollTop = row.offsetTop - this.scroller.clientHeight / 3;
    this.note();
  }

  private lookOfEnd(): string {
    const { scrollHeight, clientHeight } = this.scroller;
    return [this.rows().at(-1)?.dataset.key, scrollHeight, clientHeight].join();
  }

  private row(key: string): HTMLElement | undefined {
    return this.rows().find((row) => row.dataset.key === key);
  }

  private rows(): HTMLElement[] {
    return [...this.scroller.querySelectorAll<HTMLElement>("[data-key]")];
  }
}

/** The index of the first row that ends below a line. A binary search, because measuring rows at each scroll is slow. */
function firstBelow(rows: readonly HTMLElement[], px: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row && row.offsetTop + row.offsetHeight <= px) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
