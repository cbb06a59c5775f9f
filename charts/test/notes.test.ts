import { describe, expect, it } from '@jest/globals';
import { evaluation, external, helm, repositoryFile } from './support/rendering.js';

const http = { trustedProxies: ['10.32.0.8/29'] };
const notes = async (values: object, files: string[] = []): Promise<string> =>
  (await helm(['install', '--dry-run=client'], values, { files })).split('\nNOTES:\n')[1]!;

describe('NOTES.txt', () => {
  it('lists the next steps and commands for troubleshooting', async () => {
    const text = await notes({
      ...external,
      ingress: { enabled: true, host: 'api.example.com', tls: { secretName: 't' } },
      http,
    });
    expect(text).toContain('helm test uswarm -n backend');
    expect(text).toContain('curl https://api.example.com/v1/health');
    expect(text).toContain('kubectl get uswarm ');
    expect(text).toContain('kubectl -n backend logs deployment/uswarm-controller');
    expect(text).toContain(
      'Agents use openai, through uswarm-model-gateway, whose keys are in Secret my-modelproviders in',
    );
    expect(text).not.toMatch(/EVALUATION|NOT FOR PRODUCTION|port-forward/);
  });

  it('warns about an evaluation and prints the command that reads its secret', async () => {
    const text = await notes(evaluation);
    expect(text).toContain('EVALUATION: evaluation.enabled is set.');
    expect(text).toContain('Do not store data that you need to keep.');
    expect(text).toContain(
      `get secret uswarm-evaluation -o go-template='{{index .data "signature-secret" | base64decode}}'`,
    );
    expect(text).toContain('Agents use the built-in demo model.');
    expect(text).toContain('create secret generic model-providers --from-literal=OPENAI_API_KEY=');
    expect(text).toContain('port-forward service/uswarm-orchestrator');
  });

  it('warns if runtimes receive model keys', async () => {
    const text = await notes({ ...evaluation, runtime: { modelEnv: { existingSecret: 'my-model-env' } } });
    expect(text).toContain('before Secret my-model-env exists in namespace userswarms');
    expect(text).toContain('Every workspace can read this Secret.');
  });

  it('uses port-forward in a kind cluster without an ingress controller', async () => {
    const text = await notes({}, [repositoryFile('deploy/kind/values.yaml')]);
    expect(text).toContain('port-forward service/uswarm-orchestrator 8080:http');
    expect(text).not.toContain('curl');
    const edge = { ingress: { enabled: true } };
    expect(await notes(edge, [repositoryFile('deploy/kind/values.yaml')])).toContain(
      'curl http://uswarm.localhost/v1/health',
    );
  });

  it('warns about an edge without TLS or without Strict-Transport-Security', async () => {
    const ingress = { enabled: true, host: 'api.example.com', tls: { secretName: 't' } };
    const plain = { ...external, ingress: { ...ingress, tls: {} }, http: { ...http, insecure: true } };
    const text = await notes(plain);
    expect(text).toContain('NO TLS: http.insecure is set, and http://api.example.com uses plain HTTP.');
    expect(text).not.toContain('Strict-Transport-Security');
    const without = await notes({ ...external, ingress, http: { ...http, hstsMaxAgeSeconds: 0 } });
    expect(without).toContain('Strict-Transport-Security is disabled');
    expect(await notes({ ...external, ingress, http })).not.toMatch(/NO TLS|Strict-Transport-Security/);
    expect(await notes(external)).not.toMatch(/NO TLS|Strict-Transport-Security/);
  });

  it('prints the command that shows external Services, and warns about those without TLS', async () => {
    const gateway = { service: { type: 'LoadBalancer' } };
    const withTls = await notes({ ...external, gateway, http: { ...http, publicUrl: 'https://api.example.com' } });
    expect(withTls).toContain('kubectl -n backend get service uswarm-realtime-gateway-edge');
    expect(withTls).toContain('curl https://api.example.com/v1/health');
    expect(withTls).not.toMatch(/NO TLS|port-forward/);
    const ingress = { enabled: true, host: 'api.example.com', tls: { secretName: 't' } };
    const plain = await notes({ ...external, gateway, ingress, http: { ...http, insecure: true } });
    expect(plain).toContain(
      'NO TLS: http.insecure is set, and the Service uswarm-realtime-gateway-edge uses plain HTTP.',
    );
  });

  it('prints the command that shows the HTTPRoute status', async () => {
    const httpRoute = { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['api.example.com'] };
    const text = await notes({ ...external, httpRoute, http });
    expect(text).toContain('curl https://api.example.com/v1/health');
    expect(text).toContain('kubectl -n backend get httproute uswarm ');
    expect(text).not.toContain('port-forward');
  });

  it('warns about namespaces that usually contain other software', async () => {
    const text = await notes({ ...external, runtime: { extraNamespaces: ['team-a', 'default', 'istio-system'] } });
    expect(text).toContain('Workspaces run in default, istio-system, where the controller can create Deployments');
    expect(await notes({ ...external, runtime: { extraNamespaces: ['team-a'] } })).not.toContain('delete pods');
  });

  it('warns about settings that are unsuitable for production', async () => {
    const text = await notes({
      ...external,
      nonProduction: { e2eBypass: true, e2eBypassBesideKeptData: true },
      signature: { mode: 'off' },
      networkPolicy: { enabled: false },
    });
    expect(text).toContain('NOT FOR PRODUCTION: nonProduction.e2eBypass is set.');
    expect(text).toContain('Request signatures are not verified');
    expect(text).toContain('networkPolicy.enabled=false');
  });
});
