export { kubePrograms, type KubePrograms } from './cached-programs.js';
export { describeWithKubeApi } from './describe-with-kube-api.js';
export { type KubeApiServer, startKubeApiServer, TEST_NODE } from './kube-api-server.js';
