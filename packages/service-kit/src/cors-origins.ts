import { list } from './config.js';

/** A scheme and a host, perhaps a port, and nothing behind it; apps have schemes of their own, such as `capacitor`. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^\s/?#@,*]+$/;

/**
 * A setting: origins whose pages may call the API, comma-separated and exact, or only `*` for every origin. Without an
 * origin no cross-origin page may.
 */
export const corsOrigins = list.refine(
  (origins) => origins.every((origin) => ORIGIN.test(origin)) || (origins.length === 1 && origins[0] === '*'),
  'expected origins such as https://app.example.com, or only *',
);

/** What the `cors` package takes as `origin`. */
export const corsOriginOption = (origins: readonly string[]): string | string[] =>
  origins.includes('*') ? '*' : [...origins];
