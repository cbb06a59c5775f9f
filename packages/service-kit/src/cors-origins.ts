import { list } from './config.js';

/** A scheme, a host and an optional port, without a path. Apps have custom schemes, such as `capacitor`. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@,*]+$/;

/**
 * Setting: comma-separated exact origins whose pages may call the API, or only `*` for every origin. An empty list
 * allows no cross-origin requests.
 */
export const corsOrigins = list.refine(
  (origins) => origins.every((origin) => ORIGIN.test(origin)) || (origins.length === 1 && origins[0] === '*'),
  'expected origins such as https://app.example.com, or only *',
);

/** The `origin` option of the `cors` package. */
export const corsOriginOption = (origins: readonly string[]): string | string[] =>
  origins.includes('*') ? '*' : [...origins];
