/** Loads paginated lists. */

/** The maximum page size. */
const PAGE = 200;
/** The number of pages to load. The rest of a longer list is not shown. */
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
