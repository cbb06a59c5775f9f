import type { ModelServer } from '@uswarm/dev-servers';

/** Settings with which a service uses a scripted model server. */
export const modelSettings = ({ baseUrl }: Pick<ModelServer, 'baseUrl'>) => ({
  OPENAI_BASE_URL: baseUrl,
  OPENAI_API_KEY: 'test',
  OPENAI_MODEL: 'scripted',
});
