/** Style sheets are imported for the build, which makes files of them. */
declare module "*.css";

/** What the build knows of itself. */
interface ImportMeta {
  readonly env: { readonly PROD: boolean };
}
