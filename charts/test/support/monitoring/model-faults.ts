import { MODELS, pod } from './healthy.js';
import { becomes, type Figures, rises } from './series.js';

/** A component's replicas all disappear at the fault. */
export const gone = (component: string): Figures => ({
  [`uswarm_build_info{${pod(component)},version="1"}`]: becomes(1, 1).slice(0, 50),
});

/** Counter for calls with a result. */
const calls = (result: string): string =>
  `uswarm_model_gateway_calls_total{${MODELS},provider="openai",result="${result}"}`;

/** Model gateway faults, as in faults.ts. */
export const modelFaults: [what: string, alerts: string[], figures: Figures][] = [
  [
    'a model provider rejects the key',
    ['UswarmModelGatewayFailing'],
    { [calls('provider_credentials_rejected')]: rises(0, 60), [calls('completed')]: rises(60, 0) },
  ],
  [
    'the orchestrator rejects reservations of model calls',
    ['UswarmModelGatewayFailing'],
    { [calls('orchestrator_unavailable')]: rises(0, 20) },
  ],
  [
    'the usage of model calls is lost',
    ['UswarmModelUsageLost'],
    { [`uswarm_model_gateway_settlements_lost_total{${MODELS}}`]: rises(0, 1) },
  ],
  ['all model gateways disappear', ['UswarmServiceDown'], gone('model-gateway')],
];
