import { always, type Figures, histogram, none, rises } from './series.js';

const COMPONENTS = [
  'orchestrator',
  'realtime-gateway',
  'uswarm-webhook',
  'uswarm-controller',
  'searxng-client',
  'model-gateway',
];

/** Labels on a scraped pod, including the Prometheus operator's. */
export const pod = (component: string, number = 0): string =>
  `component="${component}",instance="10.0.0.${COMPONENTS.indexOf(component)}${number}:8081",` +
  `pod="uswarm-${component}-${number}",service="uswarm-${component}",namespace="backend"`;

export const ORCHESTRATOR = pod('orchestrator');
export const GATEWAY = pod('realtime-gateway');
export const WEBHOOK = pod('uswarm-webhook');
export const CONTROLLER = pod('uswarm-controller');
export const SEARCH = pod('searxng-client');
export const MODELS = pod('model-gateway');

const ofProcesses = (): Figures =>
  Object.fromEntries(
    COMPONENTS.flatMap((component) => [
      [`uswarm_build_info{${pod(component)},version="1"}`, always(1)],
      [`process_start_time_seconds{${pod(component)}}`, always(1_000)],
      [`process_resident_memory_bytes{${pod(component)}}`, always(100)],
      [`uswarm_process_memory_limit_bytes{${pod(component)}}`, always(512)],
      [`nodejs_eventloop_lag_p99_seconds{${pod(component)}}`, always(0.02)],
    ]),
  );

const HTTP = 'uswarm_http_request_duration_seconds';
const api: Figures = {
  ...histogram(HTTP, `${ORCHESTRATOR},route="listWorkspaces",method="GET",status="2xx"`, '0.5', 600, [10, 10]),
  ...histogram(HTTP, `${ORCHESTRATOR},route="none",method="any",status="4xx"`, '0.5', 60, [10, 10]),
  // Uploads may take long.
  ...histogram(HTTP, `${ORCHESTRATOR},route="createUpload",method="POST",status="2xx"`, '0.5', 300, [1, 1]),
  [`uswarm_jwks_fetches_total{${ORCHESTRATOR},issuer="main",outcome="ok"}`]: rises(0.1),
  [`uswarm_jwks_fetches_total{${ORCHESTRATOR},issuer="main",outcome="failed"}`]: none,
  [`uswarm_token_checks_total{${ORCHESTRATOR},outcome="accepted"}`]: rises(600),
  [`uswarm_token_checks_total{${ORCHESTRATOR},outcome="refused"}`]: rises(20),
  [`uswarm_token_checks_total{${ORCHESTRATOR},outcome="failed"}`]: none,
  [`uswarm_uploads_total{${ORCHESTRATOR},outcome="stored"}`]: rises(10),
  [`uswarm_transcriptions_total{${ORCHESTRATOR},outcome="transcribed"}`]: rises(5),
  [`uswarm_uploads_total{${ORCHESTRATOR},outcome="refused"}`]: rises(10),
  [`uswarm_uploads_total{${ORCHESTRATOR},outcome="failed"}`]: none,
  [`uswarm_integration_refreshes_total{${ORCHESTRATOR},provider="github",outcome="renewed"}`]: rises(2),
  [`uswarm_integration_refreshes_total{${ORCHESTRATOR},provider="github",outcome="gone"}`]: rises(1),
  [`uswarm_integration_refreshes_total{${ORCHESTRATOR},provider="github",outcome="refused"}`]: none,
  [`uswarm_push_notifications_total{${ORCHESTRATOR},service="fcm",outcome="sent"}`]: rises(5),
  [`uswarm_push_notifications_total{${ORCHESTRATOR},service="fcm",outcome="rejected"}`]: none,
  [`uswarm_push_withdrawals_total{${ORCHESTRATOR},service="fcm",outcome="sent"}`]: rises(2),
  [`uswarm_rate_limits_shared{${ORCHESTRATOR}}`]: always(1),
  [`uswarm_database_up{${ORCHESTRATOR}}`]: always(1),
  [`uswarm_database_pool_pending{${ORCHESTRATOR}}`]: none,
  [`uswarm_event_bus_up{${ORCHESTRATOR}}`]: always(1),
};

const realtime: Figures = {
  ...histogram('uswarm_gateway_send_seconds', `${GATEWAY},outcome="ok"`, '0.25', 120, [10, 10]),
  [`uswarm_gateway_send_seconds_count{${GATEWAY},outcome="refused"}`]: rises(10),
  [`uswarm_gateway_send_seconds_count{${GATEWAY},outcome="failed"}`]: none,
  [`uswarm_gateway_handshakes_total{${GATEWAY},outcome="ok"}`]: rises(30),
  [`uswarm_gateway_handshakes_total{${GATEWAY},outcome="refused"}`]: rises(10),
  [`uswarm_gateway_handshakes_total{${GATEWAY},outcome="failed"}`]: none,
  [`uswarm_gateway_fills_total{${GATEWAY},evidence="gap"}`]: none,
  [`uswarm_gateway_fills_total{${GATEWAY},evidence="subscribe"}`]: rises(20),
  [`uswarm_gateway_resyncs_total{${GATEWAY},reason="too_old"}`]: none,
  [`uswarm_event_bus_up{${GATEWAY}}`]: always(1),
  [`uswarm_relay_oldest_unpublished_seconds{${ORCHESTRATOR}}`]: always(0.1),
};

const replies: Figures = {
  [`uswarm_turns_oldest_age_seconds{${ORCHESTRATOR},state="queued"}`]: always(3),
  [`uswarm_turns_oldest_age_seconds{${ORCHESTRATOR},state="held"}`]: always(90_000),
  [`uswarm_runtimes{${ORCHESTRATOR},phase="Ready"}`]: always(18),
  [`uswarm_runtimes{${ORCHESTRATOR},phase="Progressing"}`]: always(2),
  [`uswarm_runtimes{${ORCHESTRATOR},phase="Suspended"}`]: always(400),
  [`uswarm_runtimes_unreachable{${ORCHESTRATOR}}`]: none,
  [`uswarm_turns_oldest_age_seconds{${ORCHESTRATOR},state="running"}`]: always(900),
  [`uswarm_turns_total{${ORCHESTRATOR},status="done"}`]: rises(30),
  [`uswarm_turns_total{${ORCHESTRATOR},status="failed"}`]: rises(5),
  [`uswarm_turn_failures_total{${ORCHESTRATOR},reason="token_limit_reached"}`]: rises(5),
  [`uswarm_turn_failures_total{${ORCHESTRATOR},reason="runtime_lost"}`]: none,
  [`uswarm_turn_failures_total{${ORCHESTRATOR},reason="model_timeout"}`]: none,
  [`uswarm_tool_calls_total{${ORCHESTRATOR},tool="web_search_tool",outcome="completed"}`]: rises(20),
  [`uswarm_tool_calls_total{${ORCHESTRATOR},tool="web_search_tool",outcome="failed"}`]: rises(1),
  [`uswarm_jobs_oldest_due_seconds{${ORCHESTRATOR},kind="turn"}`]: always(4_000),
  [`uswarm_jobs_oldest_due_seconds{${ORCHESTRATOR},kind="runtime"}`]: always(0.2),
  [`uswarm_jobs_handled_total{${ORCHESTRATOR},kind="upload",outcome="done"}`]: rises(10),
  [`uswarm_jobs_handled_total{${ORCHESTRATOR},kind="upload",outcome="failed"}`]: none,
  [`uswarm_lease_takeovers_total{${ORCHESTRATOR},kind="turn"}`]: none,
  ...histogram('uswarm_runtime_time_to_ready_seconds', `${ORCHESTRATOR},start="resume"`, '30', 4, [10, 10]),
};

const runtimes: Figures = {
  [`uswarm_userswarms{${CONTROLLER},phase="Ready"}`]: always(20),
  [`uswarm_userswarms{${CONTROLLER},phase="Error"}`]: none,
  [`uswarm_userswarms_oldest_seconds{${CONTROLLER},phase="Progressing"}`]: always(5),
  [`uswarm_userswarms_oldest_seconds{${CONTROLLER},phase="Deleting"}`]: always(3),
  [`uswarm_userswarms_stuck{${CONTROLLER},phase="Progressing"}`]: none,
  [`uswarm_userswarms_stuck{${CONTROLLER},phase="Deleting"}`]: none,
  [`uswarm_userswarms{${CONTROLLER},phase="Suspended"}`]: always(400),
  [`uswarm_userswarms_failing{${CONTROLLER},reason="ImagePullBackOff"}`]: none,
  [`uswarm_controller_leader{${CONTROLLER}}`]: always(1),
  [`uswarm_controller_leader{${pod('uswarm-controller', 1)}}`]: none,
  [`uswarm_controller_caches_synced{${CONTROLLER}}`]: always(1),
  [`uswarm_controller_watch_failures_total{${CONTROLLER},resource="pods",fault="connection"}`]: none,
  [`uswarm_controller_events_dropped_total{${CONTROLLER}}`]: none,
  [`uswarm_controller_oldest_reconcile_age_seconds{${CONTROLLER}}`]: always(29),
  [`uswarm_controller_rollout_halted{${CONTROLLER}}`]: none,
  [`uswarm_controller_start_queue_length{${CONTROLLER}}`]: none,
  [`uswarm_controller_hook_duration_seconds_count{${CONTROLLER},outcome="ok"}`]: rises(60),
  [`uswarm_controller_hook_duration_seconds_count{${CONTROLLER},outcome="unreachable"}`]: none,
  [`uswarm_controller_sync_duration_seconds_count{${CONTROLLER},outcome="synced"}`]: rises(60),
  [`uswarm_controller_sync_duration_seconds_count{${CONTROLLER},outcome="failed"}`]: none,
  ...histogram('uswarm_controller_queue_wait_seconds', CONTROLLER, '0.1', 60, [10, 10]),
  ...histogram('uswarm_webhook_sync_duration_seconds', WEBHOOK, '0.01', 60, [10, 10]),
};

const search: Figures = {
  [`uswarm_searches_total{${SEARCH},status="ok"}`]: rises(20),
  [`uswarm_searches_total{${SEARCH},status="timeout"}`]: none,
  [`uswarm_searches_total{${SEARCH},status="rate_limited"}`]: rises(40),
  [`uswarm_search_engine_failures_total{${SEARCH},engine="bing"}`]: rises(2),
};

const models: Figures = {
  [`uswarm_model_gateway_calls_total{${MODELS},provider="openai",result="completed"}`]: rises(60),
  [`uswarm_model_gateway_calls_total{${MODELS},provider="openai",result="cut"}`]: rises(10),
  [`uswarm_model_gateway_calls_total{${MODELS},provider="openai",result="provider_error"}`]: rises(10),
  [`uswarm_model_gateway_calls_total{${MODELS},provider="openai",result="provider_credentials_rejected"}`]: none,
  [`uswarm_model_gateway_calls_total{${MODELS},provider="openai",result="orchestrator_unavailable"}`]: none,
  [`uswarm_model_gateway_calls_total{${MODELS},provider="none",result="token_limit_reached"}`]: rises(20),
  [`uswarm_model_gateway_settlements_pending{${MODELS}}`]: none,
  [`uswarm_model_gateway_settlements_lost_total{${MODELS}}`]: none,
};

/** A healthy platform with a normal rate of failures. */
export const healthy: Figures = {
  ...ofProcesses(),
  ...api,
  ...realtime,
  ...replies,
  ...runtimes,
  ...search,
  ...models,
};
