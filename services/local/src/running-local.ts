/** What people and programs need to know of local mode that runs. */
export interface RunningLocal {
  url: string;
  issuer: string;
  e2eToken: string | undefined;
  /** The configured model, or `demo`. */
  model: string;
  /** The state of the search, which changes when SearXNG is ready. */
  search: () => string;
  dataDirectory: string;
  environment: Record<string, string | undefined>;
}
