/** A test engine that returns `{"results": [{"title", "url", "content"}]}`. */
export interface JsonEngine {
  name: string;
  /** Contains the placeholder `{query}`. */
  searchUrl: string;
  /** Timeout in seconds. */
  timeoutSeconds?: number;
}

/**
 * Five general engines, an encyclopedia and a knowledge base. These engines also serve data centre addresses, unlike
 * Google, Startpage and Brave.
 */
const GENERAL_ENGINES = [
  { name: 'duckduckgo', engine: 'duckduckgo', shortcut: 'ddg' },
  { name: 'bing', engine: 'bing', shortcut: 'bi' },
  { name: 'mojeek', engine: 'mojeek', shortcut: 'mjk' },
  { name: 'yahoo', engine: 'yahoo', shortcut: 'yh' },
  { name: 'mwmbl', engine: 'mwmbl', shortcut: 'mwm' },
  // As result rows instead of info boxes.
  { name: 'wikipedia', engine: 'wikipedia', shortcut: 'wp', display_type: ['list'] },
  { name: 'wikidata', engine: 'wikidata', shortcut: 'wd', display_type: ['list'] },
].map((engine) => ({ ...engine, categories: 'general' }));

export interface SettingsOptions {
  port: number;
  secret: string;
  /** Folders with an empty theme, without which SearXNG does not start. JSON needs no other. */
  templatesPath: string;
  staticPath: string;
  engines: 'general' | readonly JsonEngine[];
  /** The variables that name the proxy of this machine, for public engines. */
  environment: Record<string, string | undefined>;
}

/** SearXNG settings: loopback only, JSON, no limiter, no shared store, only the given engines. */
export function searxngSettings({
  port,
  secret,
  templatesPath,
  staticPath,
  engines,
  environment,
}: SettingsOptions): object {
  return {
    use_default_settings: { engines: { keep_only: [] } },
    general: { instance_name: 'uswarm', debug: false, enable_metrics: false },
    search: { formats: ['html', 'json'], safe_search: 0, default_lang: 'en', ...bans(engines) },
    server: { bind_address: '127.0.0.1', port, secret_key: secret, limiter: false, public_instance: false },
    valkey: { url: false },
    ui: { templates_path: templatesPath, static_path: staticPath, default_theme: 'simple', default_locale: 'en' },
    // Below the tool's timeout of 10 s, so that a slow engine does not fail the search.
    outgoing: {
      proxies: engines === 'general' ? proxies(environment) : null,
      request_timeout: 4,
      max_request_timeout: 8,
      enable_http2: true,
    },
    plugins: {},
    engines: engines === 'general' ? GENERAL_ENGINES : engines.map(jsonEngine),
  };
}

/** SearXNG reads proxies only from its settings. */
function proxies(environment: SettingsOptions['environment']): Record<string, string> | null {
  const variable = (name: string): string => environment[name.toLowerCase()] || environment[name] || '';
  const all = variable('ALL_PROXY');
  const [http, https] = [variable('HTTP_PROXY') || all, variable('HTTPS_PROXY') || all];
  const known = { ...(http === '' ? {} : { 'http://': http }), ...(https === '' ? {} : { 'https://': https }) };
  return Object.keys(known).length === 0 ? null : known;
}

/** Test engines are never suspended, because each test decides which of them fail. */
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
