/** Selects a page of a list. */
export interface Page {
  /** The `next` of the previous page. */
  after?: string;
  /** Items per page; the server has a default. */
  limit?: number;
}
