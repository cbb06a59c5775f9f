import { elsewhere, failedRequests, fleet, HTTP_SECONDS, rejectedPods } from './figures.js';
import { CONTROLLER, GATEWAY, ORCHESTRATOR, pod, SEARCH, WEBHOOK } from './healthy.js';
import { gone, modelFaults } from './model-faults.js';
import { always, becomes, type Figures, histogram, rises } from './series.js';

/** Faults with the alerts that must fire; no other alert may fire. */
export const faults: [what: string, alerts: string[], figures: Figures][] = [
  ['every tenth request fails', ['UswarmApiErrors'], failedRequests(60)],
  [
    'half of the requests are slow',
    ['UswarmApiSlow'],
    histogram(HTTP_SECONDS, `${ORCHESTRATOR},route="listWorkspaces",method="GET",status="2xx"`, '0.5', 600, [10, 5]),
  ],
  [
    'an identity provider is unreachable and its keys are cached',
    ['UswarmIdentityProviderUnreachable'],
    {
      [`uswarm_jwks_fetches_total{${ORCHESTRATOR},issuer="main",outcome="ok"}`]: rises(0.1, 0),
      [`uswarm_jwks_fetches_total{${ORCHESTRATOR},issuer="main",outcome="failed"}`]: rises(0, 2),
    },
  ],
  [
    'tokens cannot be verified',
    ['UswarmIdentityProviderUnreachable'],
    { [`uswarm_token_checks_total{${ORCHESTRATOR},outcome="failed"}`]: rises(0, 20) },
  ],
  [
    'the object store is unavailable',
    ['UswarmUploadsFailing'],
    {
      [`uswarm_uploads_total{${ORCHESTRATOR},outcome="stored"}`]: rises(10, 0),
      [`uswarm_uploads_total{${ORCHESTRATOR},outcome="failed"}`]: rises(0, 10),
    },
  ],
  [
    'a provider rejects the OAuth client',
    ['UswarmIntegrationRefreshFailing'],
    { [`uswarm_integration_refreshes_total{${ORCHESTRATOR},provider="github",outcome="refused"}`]: rises(0, 0.05) },
  ],
  ...modelFaults,
  [
    'Redis rejects rate limit commands',
    ['UswarmRateLimiterDegraded'],
    { [`uswarm_rate_limits_shared{${ORCHESTRATOR}}`]: becomes(1, 0) },
  ],
  [
    'messages cannot be stored',
    ['UswarmMessageSendFailing'],
    { [`uswarm_gateway_send_seconds_count{${GATEWAY},outcome="failed"}`]: rises(0, 20) },
  ],
  [
    'messages are stored slowly',
    ['UswarmMessageSendSlow'],
    histogram('uswarm_gateway_send_seconds', `${GATEWAY},outcome="ok"`, '0.25', 120, [10, 8]),
  ],
  [
    'handshakes fail',
    ['UswarmHandshakesFailing'],
    { [`uswarm_gateway_handshakes_total{${GATEWAY},outcome="failed"}`]: rises(0, 20) },
  ],
  [
    'the clock of a gateway is behind',
    ['UswarmServiceTokenRefused'],
    { [`uswarm_service_token_refused{${GATEWAY},reason="expired"}`]: becomes(0, 1) },
  ],
  [
    'the relay does not publish',
    ['UswarmRelayLag'],
    { [`uswarm_relay_oldest_unpublished_seconds{${ORCHESTRATOR}}`]: becomes(0.1, 600) },
  ],
  [
    'a gateway loses its connection to Redis',
    ['UswarmEventBusDown'],
    { [`uswarm_event_bus_up{${GATEWAY}}`]: becomes(1, 0) },
  ],
  [
    'the bus loses events',
    ['UswarmEventsLost'],
    { [`uswarm_gateway_fills_total{${GATEWAY},evidence="gap"}`]: rises(0, 3) },
  ],
  [
    'clients must reload',
    ['UswarmEventsLost'],
    { [`uswarm_gateway_resyncs_total{${GATEWAY},reason="too_old"}`]: rises(0, 3) },
  ],
  [
    'turns do not start',
    ['UswarmTurnsWaiting'],
    { [`uswarm_turns_oldest_age_seconds{${ORCHESTRATOR},state="queued"}`]: becomes(3, 900) },
  ],
  [
    'a network policy blocks one runtime',
    ['UswarmRuntimesUnreachable'],
    { [`uswarm_runtimes_unreachable{${ORCHESTRATOR}}`]: becomes(0, 1) },
  ],
  [
    'the orchestrator is cut off from the runtimes',
    ['UswarmRuntimesUnreachable'],
    { [`uswarm_runtimes_unreachable{${ORCHESTRATOR}}`]: becomes(0, 17) },
  ],
  [
    'runtimes die during turns',
    ['UswarmTurnsFailing'],
    {
      [`uswarm_turns_total{${ORCHESTRATOR},status="failed"}`]: rises(5, 15),
      [`uswarm_turn_failures_total{${ORCHESTRATOR},reason="runtime_lost"}`]: rises(0, 10),
    },
  ],
  [
    'the model provider does not respond',
    ['UswarmModelFailing'],
    {
      [`uswarm_turns_total{${ORCHESTRATOR},status="failed"}`]: rises(5, 35),
      [`uswarm_turn_failures_total{${ORCHESTRATOR},reason="model_timeout"}`]: rises(0, 30),
    },
  ],
  [
    'agents cannot search',
    ['UswarmToolFailing'],
    {
      [`uswarm_tool_calls_total{${ORCHESTRATOR},tool="web_search_tool",outcome="completed"}`]: rises(20, 0),
      [`uswarm_tool_calls_total{${ORCHESTRATOR},tool="web_search_tool",outcome="failed"}`]: rises(1, 20),
    },
  ],
  [
    'runtimes start slowly',
    ['UswarmRuntimeStartsSlow'],
    histogram('uswarm_runtime_time_to_ready_seconds', `${ORCHESTRATOR},start="resume"`, '30', 4, [10, 5]),
  ],
  [
    'runtime jobs are overdue',
    ['UswarmJobBacklog'],
    { [`uswarm_jobs_oldest_due_seconds{${ORCHESTRATOR},kind="runtime"}`]: becomes(0.2, 900) },
  ],
  [
    'jobs fail',
    ['UswarmJobsFailing'],
    {
      [`uswarm_jobs_handled_total{${ORCHESTRATOR},kind="upload",outcome="done"}`]: rises(10, 0),
      [`uswarm_jobs_handled_total{${ORCHESTRATOR},kind="upload",outcome="failed"}`]: rises(0, 5),
    },
  ],
  [
    'replicas hang',
    ['UswarmLeaseTakeovers'],
    { [`uswarm_lease_takeovers_total{${ORCHESTRATOR},kind="turn"}`]: rises(0, 2) },
  ],
  [
    'one of twenty runtimes does not start',
    ['UswarmRuntimesStuckProgressing'],
    { [`uswarm_userswarms_stuck{${CONTROLLER},phase="Progressing"}`]: becomes(0, 1) },
  ],
  [
    'an image does not exist',
    ['UswarmRuntimeStartsFailing'],
    { [`uswarm_userswarms_failing{${CONTROLLER},reason="ImagePullBackOff"}`]: becomes(0, 12) },
  ],
  ['Pod Security rejects three of ten runtimes', ['UswarmRuntimeStartsFailing'], rejectedPods(10, 3)],
  ['Pod Security rejects 60 of 5,000 runtimes', ['UswarmRuntimeStartsFailing'], rejectedPods(5_000, 60)],
  [
    'one of ten runtimes does not start',
    ['UswarmRuntimesStuckProgressing'],
    { ...fleet(10), [`uswarm_userswarms_stuck{${CONTROLLER},phase="Progressing"}`]: becomes(0, 1) },
  ],
  [
    '51 more of 5,000 runtimes do not start',
    ['UswarmRuntimesStuckProgressing'],
    { ...fleet(5_000), [`uswarm_userswarms_stuck{${CONTROLLER},phase="Progressing"}`]: becomes(1, 52) },
  ],
  [
    'a UserSwarm cannot be rendered',
    ['UswarmRuntimesInError'],
    { [`uswarm_userswarms{${CONTROLLER},phase="Error"}`]: becomes(0, 1) },
  ],
  [
    'the deletion of a UserSwarm is stuck',
    ['UswarmRuntimesStuckDeleting'],
    { [`uswarm_userswarms_stuck{${CONTROLLER},phase="Deleting"}`]: becomes(0, 1) },
  ],
  ['there is no leader', ['UswarmControllerNoLeader'], { [`uswarm_controller_leader{${CONTROLLER}}`]: becomes(1, 0) }],
  [
    'one of two releases in the same Prometheus has no leader',
    ['UswarmControllerNoLeader'],
    {
      [`uswarm_controller_leader{${elsewhere(0)}}`]: becomes(1, 0),
      [`uswarm_controller_leader{${elsewhere(1)}}`]: always(0),
    },
  ],
  [
    'there are two leaders',
    ['UswarmControllerNoLeader'],
    { [`uswarm_controller_leader{${pod('uswarm-controller', 1)}}`]: becomes(0, 1) },
  ],
  [
    'a watch of the controller is rejected for five minutes',
    ['UswarmControllerNotSynced'],
    { [`uswarm_controller_caches_synced{${CONTROLLER}}`]: becomes(1, 0, 5) },
  ],
  [
    'a watch fails repeatedly',
    ['UswarmControllerWatchFailing'],
    { [`uswarm_controller_watch_failures_total{${CONTROLLER},resource="pods",fault="denied"}`]: rises(0, 6) },
  ],
  [
    'the queue of Events overflows',
    ['UswarmControllerEventsDropped'],
    { [`uswarm_controller_events_dropped_total{${CONTROLLER}}`]: rises(0, 20) },
  ],
  [
    'the controller hangs',
    ['UswarmControllerReconcileStalled'],
    { [`uswarm_controller_oldest_reconcile_age_seconds{${CONTROLLER}}`]: becomes(20, 900) },
  ],
  [
    'a new image does not start',
    ['UswarmRolloutHalted'],
    { [`uswarm_controller_rollout_halted{${CONTROLLER}}`]: becomes(0, 1) },
  ],
  [
    'starts do not finish',
    ['UswarmStartsQueued'],
    { [`uswarm_controller_start_queue_length{${CONTROLLER}}`]: becomes(0, 12) },
  ],
  [
    'the webhook is unavailable',
    ['UswarmWebhookUnavailable'],
    { [`uswarm_controller_hook_duration_seconds_count{${CONTROLLER},outcome="unreachable"}`]: rises(0, 60) },
  ],
  [
    'the webhook is slow',
    ['UswarmWebhookSlow'],
    {
      ...histogram('uswarm_webhook_sync_duration_seconds', WEBHOOK, '0.01', 60, [10, 8]),
      [`uswarm_webhook_sync_duration_seconds_bucket{${WEBHOOK},le="1"}`]: rises(60),
    },
  ],
  [
    'the API server rejects writes',
    ['UswarmControllerSyncsFailing'],
    { [`uswarm_controller_sync_duration_seconds_count{${CONTROLLER},outcome="failed"}`]: rises(0, 30) },
  ],
  [
    'there are too few workers',
    ['UswarmControllerQueueSlow'],
    {
      ...histogram('uswarm_controller_queue_wait_seconds', CONTROLLER, '0.1', 60, [10, 1]),
      [`uswarm_controller_queue_wait_seconds_bucket{${CONTROLLER},le="10"}`]: rises(60),
    },
  ],
  [
    'SearXNG does not respond',
    ['UswarmSearchFailing'],
    {
      [`uswarm_searches_total{${SEARCH},status="ok"}`]: rises(20, 0),
      [`uswarm_searches_total{${SEARCH},status="timeout"}`]: rises(0, 20),
    },
  ],
  [
    'an engine blocks the address of the cluster',
    ['UswarmSearchEngineFailing'],
    {
      [`uswarm_searches_total{${SEARCH},status="rate_limited"}`]: always(0),
      [`uswarm_search_engine_failures_total{${SEARCH},engine="bing"}`]: rises(20),
    },
  ],
  ['no gateway is running', ['UswarmServiceDown'], gone('realtime-gateway')],
  ['no controller is running', ['UswarmServiceDown'], gone('uswarm-controller')],
  [
    'the webhook crashes',
    ['UswarmServiceRestarting'],
    { [`process_start_time_seconds{${WEBHOOK}}`]: always(0).map((_, minute) => 1_000 + Math.floor(minute / 5)) },
  ],
  ['Postgres is unavailable', ['UswarmDatabaseDown'], { [`uswarm_database_up{${ORCHESTRATOR}}`]: becomes(1, 0) }],
  [
    'the connection pool is exhausted',
    ['UswarmDatabasePoolExhausted'],
    { [`uswarm_database_pool_pending{${ORCHESTRATOR}}`]: becomes(0, 40) },
  ],
  ['memory leaks', ['UswarmMemoryNearLimit'], { [`process_resident_memory_bytes{${GATEWAY}}`]: becomes(100, 500) }],
  [
    'an event loop is blocked',
    ['UswarmEventLoopBlocked'],
    { [`nodejs_eventloop_lag_p99_seconds{${GATEWAY}}`]: becomes(0.02, 2) },
  ],
];
