/** Which page of a list is asked for. */
export interface Page {
  /** The `next` of the page before. */
  after?: string;
  /** Items on the page; the server chooses when absent. */
  limit?: number;
}
