/** Describes a running local mode to the banner, the page and programs. */
export interface RunningLocal {
  url: string;
  issuer: string;
  e2eToken: string | undefined;
  /** The configured model, or `demo`. */
  model: string;
  /** Search state, which changes when SearXNG is ready. */
  search: () => string;
  dataDirectory: string;
  /** Other machines can reach it. */
  shared: boolean;
  environment: Record<string, string | undefined>;
}
