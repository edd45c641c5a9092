/**
 * Where a history is scrolled to, and keeping it there while messages come and go around it.
 *
 * The row at the top of the view is the anchor: after each change it is put back where it was. Browsers that do this by
 * themselves do it better, since they know of a wheel that is still turning; but not at the very top. At the very end
 * the history follows what is said instead.
 */

/** Closer to the end than this counts as being there. */
const END_PX = 48;
/** With fewer rows than these above or below the view there should be more, so that few people ever see the edge. */
const ROWS_AROUND = 40;
const KEEPS_PLACE = CSS.supports("overflow-anchor", "auto");

interface Anchor {
  key: string;
  /** From the top of the view. */
  offsetPx: number;
}

export class Scrolling {
  atEnd = true;
  private anchor: Anchor | undefined;
  /** How the end looked when the rows last changed. */
  private end = "";

  constructor(private readonly scroller: HTMLElement) {}

  /** Somebody has scrolled, or the rows were put where they belong. */
  note(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    this.atEnd = scrollHeight - scrollTop - clientHeight < END_PX;
    const rows = this.rows();
    const first = rows[firstBelow(rows, scrollTop)];
    const key = first?.dataset.key;
    this.anchor = first && key !== undefined ? { key, offsetPx: first.offsetTop - scrollTop } : undefined;
  }

  /** The rows have changed. */
  restore(mayFollow: boolean): void {
    const end = this.lookOfEnd();
    if (this.atEnd && mayFollow) {
      // Rows are rendered anew for other reasons too. Somebody who goes up by a little is not to be held.
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

  /** Brings a row into view, a third from the top. Says whether it is there. */
  toRow(key: string): boolean {
    const row = this.row(key);
    if (row) {
      this.show(row);
    }
    return row !== undefined;
  }

  /** The same with a message, which gets the focus: what led to it may not be there any more. */
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

  /** The entry of the last message that is in view. */
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

/** The index of the first row that ends below a line. This is asked at each scroll, and rows do not tell for free. */
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
