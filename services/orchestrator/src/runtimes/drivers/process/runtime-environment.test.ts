import { describe, expect, it } from '@jest/globals';
import { generateCallKeys } from '@uswarm/service-kit';
import { runtimeEnvironment } from './runtime-environment.js';

const IDENTITY = { USWARM_WORKSPACE_ID: 'w', USWARM_USER_ID: 'u' };
const PROVIDER = {
  OPENAI_API_KEY: 'secret-key',
  OPENAI_BASE_URL: 'http://provider',
  OPENAI_MODEL: 'gpt',
  UNRELATED: 'x',
};
const environment = (modelGatewayUrl: string | undefined, variables: Record<string, string> = PROVIDER) =>
  runtimeEnvironment({
    callPrivateKey: generateCallKeys().privateKey,
    mcpEndpoint: undefined,
    modelGatewayUrl,
    logLevel: 'info',
    environment: variables,
  })(IDENTITY);

describe('the environment of a runtime', () => {
  it('has the settings of the provider without a model gateway', () => {
    const { UNRELATED, ...passedOn } = PROVIDER;
    expect(environment(undefined)).toMatchObject(passedOn);
    expect(environment(undefined)).not.toHaveProperty('UNRELATED', UNRELATED);
    expect(environment(undefined)).not.toHaveProperty('MODEL_GATEWAY_URL');
  });

  it('has neither key nor address of the provider with a model gateway, but names the provider', () => {
    const variables = environment('http://gateway');
    expect(variables).toMatchObject({
      MODEL_GATEWAY_URL: 'http://gateway',
      USWARM_DEFAULT_PROVIDER: 'openai',
      OPENAI_MODEL: 'gpt',
    });
    expect(JSON.stringify(variables)).not.toMatch(/secret-key|http:\/\/provider/);
  });

  it('keeps the configured default provider with a model gateway', () => {
    const variables = environment('http://gateway', { ...PROVIDER, USWARM_DEFAULT_PROVIDER: 'demo' });
    expect(variables['USWARM_DEFAULT_PROVIDER']).toBe('demo');
  });
});
