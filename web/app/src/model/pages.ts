/** Lists that the server gives page by page. */

/** The longest page there is. */
const PAGE = 200;
/** Whoever has more than so many pages is not shown the rest; the server knows it all. */
const PAGES_MAX = 10;

/** The items of all pages. */
export async function allOf<T>(
  ask: (page: { limit: number; after?: string }) => Promise<{ items: T[]; next?: string | null }>,
): Promise<T[]> {
  const all: T[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { items, next } = await ask({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    all.push(...items);
    after = next ?? undefined;
    if (after === undefined) {
      break;
    }
  }
  return all;
}
