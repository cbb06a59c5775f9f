/** An engine that SearXNG asks for `{"results": [{"title", "url", "content"}]}`; for tests. */
export interface JsonEngine {
  name: string;
  /** With `{query}` where the query goes. */
  searchUrl: string;
  /** Seconds until SearXNG gives the engine up. */
  timeoutSeconds?: number;
}

/**
 * Five general engines that answer addresses of data centres too (Google, Startpage and Brave mostly
 * do not), an encyclopedia and a knowledge base.
 */
const GENERAL_ENGINES = [
  { name: 'duckduckgo', engine: 'duckduckgo', shortcut: 'ddg' },
  { name: 'bing', engine: 'bing', shortcut: 'bi' },
  { name: 'mojeek', engine: 'mojeek', shortcut: 'mjk' },
  { name: 'yahoo', engine: 'yahoo', shortcut: 'yh' },
  { name: 'mwmbl', engine: 'mwmbl', shortcut: 'mwm' },
  // As rows of the result list; by default these two show only as info boxes.
  { name: 'wikipedia', engine: 'wikipedia', shortcut: 'wp', display_type: ['list'] },
  { name: 'wikidata', engine: 'wikidata', shortcut: 'wd', display_type: ['list'] },
].map((engine) => ({ ...engine, categories: 'general' }));

export interface SettingsOptions {
  port: number;
  secret: string;
  /** Folders that hold an empty theme; without them SearXNG does not start, and JSON needs no more. */
  templatesPath: string;
  staticPath: string;
  engines: 'general' | readonly JsonEngine[];
}

/** SearXNG's settings: loopback only, JSON on, no limiter, no shared store, only the engines named. */
export function searxngSettings({ port, secret, templatesPath, staticPath, engines }: SettingsOptions): object {
  return {
    use_default_settings: { engines: { keep_only: [] } },
    general: { instance_name: 'uswarm', debug: false, enable_metrics: false },
    search: { formats: ['html', 'json'], safe_search: 0, default_lang: 'en', ...bans(engines) },
    server: { bind_address: '127.0.0.1', port, secret_key: secret, limiter: false, public_instance: false },
    valkey: { url: false },
    ui: { templates_path: templatesPath, static_path: staticPath, default_theme: 'simple', default_locale: 'en' },
    // Less than the ten seconds after which the tool gives up, so that slow engines cost only themselves.
    outgoing: { proxies: null, request_timeout: 4, max_request_timeout: 8, enable_http2: true },
    plugins: {},
    engines: engines === 'general' ? GENERAL_ENGINES : engines.map(jsonEngine),
  };
}

/** Test engines are never suspended: each test decides anew which of them fail. */
function bans(engines: SettingsOptions['engines']): object {
  if (engines === 'general') return {};
  const none = Object.fromEntries(
    ['SearxEngineAccessDenied', 'SearxEngineCaptcha', 'SearxEngineTooManyRequests'].map((name) => [name, 0]),
  );
  return { ban_time_on_fail: 0, max_ban_time_on_fail: 0, suspended_times: none };
}

function jsonEngine({ name, searchUrl, timeoutSeconds = 4 }: JsonEngine): object {
  return {
    name,
    engine: 'json_engine',
    shortcut: name,
    categories: 'general',
    enable_http: true,
    search_url: searchUrl,
    results_query: 'results',
    url_query: 'url',
    title_query: 'title',
    content_query: 'content',
    timeout: timeoutSeconds,
  };
}
