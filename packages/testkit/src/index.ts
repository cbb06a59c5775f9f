export { ARGO_VERSIONS, type ArgoVerdict, type ArgoVersion, askArgoCd } from './argocd.js';
export { createCertificate, type ServerCertificate } from './certificate.js';
export { chartReadme, crane, kubeconform, kubeScore } from './go/chart-programs.js';
export { cosign } from './go/cosign.js';
export { copyGoModule, type GoModule } from './go/go-module.js';
export { kubeTools } from './kube-tools.js';
export {
  allDocumentedMetrics,
  type DocumentedMetric,
  documentedMetrics,
  metricsIn,
  undocumented,
} from './metric-table.js';
export { COLLECTOR_START_MS, type CollectedSpan, type RunningCollector, startCollector } from './otel-collector.js';
export { orchestratorSchema } from './orchestrator-schema.js';
export { describeWith } from './parts.js';
export { type AlertScenario, askPrometheus, type Expression, type RuleVerdict } from './prometheus.js';
export { type DocumentedStream, type DocumentedStreamOptions, startDocumentedStream } from './documented-stream.js';
export { installPythonSocketio, type PythonClient, startPythonClient } from './python-client.js';
export { runSchemathesis } from './schemathesis.js';
export { createTestDatabase, type DatabaseTemplate, SERVING_ROLE, type TestDatabase } from './test-database.js';
