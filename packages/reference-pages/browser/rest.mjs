import SwaggerUI from 'swagger-ui-dist/swagger-ui-bundle.js';

const base = new URL('..', import.meta.url).href;
const response = await fetch(new URL('v1/openapi.json', base));
// Requests of “Try it out” go to the origin of this page, the only server that its content security policy allows.
const spec = { ...(await response.json()), servers: [{ url: base.replace(/\/$/, '') }] };

const dark = matchMedia('(prefers-color-scheme: dark)');
const followTheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followTheme);
followTheme();

SwaggerUI({
  spec,
  domNode: document.querySelector('#reference'),
  deepLinking: true,
  filter: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  // Without it, the page asks a server of its authors to validate the document.
  validatorUrl: null,
  plugins: [{ wrapComponents: { ServersContainer: () => () => null } }],
});
