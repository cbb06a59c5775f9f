import { numberIn } from './words.js';

// Failures that a status alone does not explain, and their sentences for users.

const LOADING_NOW =
  /(?:is|are)(?: currently| still| now)? (?:loading|warming|starting|initiali[sz]ing|deploying|downloading|pulling|booting|provisioning)|being (?:loaded|downloaded|deployed|initiali[sz]ed)|\bloading (?:the )?(?:model|weights)|currently loading|still (?:loading|starting)|warming[ -]up|cold[ -]start|starting up|scal(?:ing|ed)[ _-](?:up|from|to)|(?:waiting for|pulling|downloading|booting|provisioning) (?:(?:the|an?) )?(?:model|instance|server|engine|weights)|加载中|正在(?:加载|启动|初始化)|ロード中|読み込み中|로드 중|로딩 중|загружа|wird (?:gerade )?geladen|cours de chargement|cargando|carregando/;
const NOT_READY =
  /(?:model|weights|engine|runner|worker|server|instance|replica)s?\b[^.\n]{0,60}\b(?:loading|warming|starting|initiali[sz]ing|not (?:yet )?(?:ready|loaded|started|available yet)|unloaded)\b|not (?:yet )?ready/;

/** A model that cannot be loaded. */
const NOT_LOADABLE =
  /(?:error|errors|failed|failure|unable|could not|cannot|can't|timed out)\b[^\n]{0,40}(?:load|start)|terminated/;

/** Servers use these statuses while they load a model. */
const LOADING_STATUS: ReadonlySet<number> = new Set([400, 404, 408, 409, 412, 422, 424, 425, 429]);

/** Returns true if the server is loading the model, so that a later request succeeds. */
export function isLoading(status: number | undefined, words: string): boolean {
  if (NOT_LOADABLE.test(words)) return false;
  if (status === undefined || status >= 500) return LOADING_NOW.test(words) || NOT_READY.test(words);
  return LOADING_STATUS.has(status) && LOADING_NOW.test(words);
}

const SECOND = 1_000;
/** Server estimates are often wrong, in both directions. */
const LONGEST_ESTIMATE_MS = 20_000;

/** The milliseconds after which a server expects to have loaded the model. */
export function loadingMs(body: string): number | undefined {
  const seconds = numberIn(body, ['estimated_time', 'estimated_time_seconds', 'retry_after', 'retry_after_seconds']);
  return seconds === undefined || seconds < 0 ? undefined : Math.min(seconds * SECOND, LONGEST_ESTIMATE_MS);
}

/** Header on a repaired response that was a web page with status 200. */
const WEB_PAGE_HEADER = 'x-uswarm-web-page';

export const WEB_PAGE_HEADERS: Readonly<Record<string, string>> = { [WEB_PAGE_HEADER]: '1' };

export const isHtml = (text: string): boolean =>
  /^\s*<(?:!doctype html|html|head|body|script|meta|title)\b/i.test(text);

export const webPage = (headers: Record<string, string>): boolean => headers[WEB_PAGE_HEADER] !== undefined;

const NO_MODEL =
  /model[_ ]not[_ ]found|\bmodels?\b[^\n]{0,120}(?:not found|does not exist|doesn't exist|not exist|unknown|not (?:a )?valid|not available|unavailable|no longer|deprecated|decommissioned|not served|not supported|is not loaded)|(?:unknown|invalid|unsupported|no such|not find(?: the)?|no) model|try pulling it|pull model/;

function hint(status: number, words: string): string {
  if (status === 401 || status === 403) return ': check its API key';
  if (NO_MODEL.test(words)) return ': it does not have the model, check the name of the model';
  if (status === 404) return ': check its URL and the name of the model';
  if (status === 405) return ': check its URL';
  return '';
}

/** Describes a rejected request to the user. */
export function sentenceOf(status: number, words: string): string {
  if (status >= 300 && status < 400) {
    const shown = status === 300 ? '' : ` (status ${status})`;
    return `The model provider answered with a redirect${shown}, which is not followed: check its URL.`;
  }
  return `The model provider rejected the request (status ${status}${hint(status, words)}).`;
}
