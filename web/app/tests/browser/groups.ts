import type { Person } from "./person.js";

/** Creates a group through the page. */
export async function createGroup(owner: Person, name: string, ...handles: string[]): Promise<void> {
  await owner.page.getByRole("button", { name: "New conversation" }).first().click();
  await owner.dialog.getByRole("button", { name: "Group" }).click();
  await owner.dialog.getByLabel("Group name").fill(name);
  for (const handle of handles) {
    await owner.dialog.getByRole("searchbox").fill(handle);
    await owner.dialog.getByRole("button", { name: `@${handle}` }).click();
  }
  await owner.dialog.getByRole("button", { name: "Create group" }).click();
  await owner.composer.waitFor();
}
