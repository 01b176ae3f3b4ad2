/** One defect a class, as advice; its declaration is the resource that names the class. */
package fencepost.agent.defects;
