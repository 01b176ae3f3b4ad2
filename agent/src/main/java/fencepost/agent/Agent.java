package fencepost.agent;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.none;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.lang.instrument.Instrumentation;
import java.util.Map;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.pool.TypePool;
import net.bytebuddy.utility.JavaModule;

/**
 * Entry point of {@code -javaagent:fencepost-agent.jar=NAME[,key=value...]}: one option for each defect
 * or cure.
 *
 * <p>A process whose BookKeeper lacks the class or the method ends at once with {@link #REFUSED}.
 */
public final class Agent {
    /**
     * The exit code of a process that this agent refuses to change. Neither BookKeeper (0 to 5) nor a verdict
     * (0 to 4) nor a signal (from 128) uses this code.
     */
    public static final int REFUSED = 86;

    /** The order to load the agent and to change nothing, for the control of an experiment. */
    static final String NONE = "none";

    private Agent() {}

    /** Installs the defect or cure that {@code argument} names. */
    public static void premain(String argument, Instrumentation instrumentation) {
        try {
            Order order = Order.parse(argument);
            if (order.name().equals(NONE)) {
                Seeds.install(NONE, Trigger.of(Map.of(), order.settings()));
                return;
            }
            Declaration declaration = Declaration.load(order.name());
            Trigger trigger = Trigger.of(declaration.trigger(), order.settings());
            change(declaration, instrumentation);
            Seeds.install(declaration.name(), trigger);
        } catch (RefusedException refused) {
            refuse(argument, refused.getMessage());
        }
    }

    /** Changes the declared method when its class is loaded; {@link Seeds} says when the change acts. */
    static void change(Declaration declaration, Instrumentation instrumentation) {
        TypePool pool = TypePool.Default.ofSystemLoader();
        requirePlace(declaration, pool);
        change(declaration, advice(declaration, pool), instrumentation);
    }

    /** Throws {@link RefusedException} unless exactly one method is meant. */
    static void requirePlace(Declaration declaration, TypePool pool) {
        TypePool.Resolution found = pool.describe(declaration.type());
        if (!found.isResolved()) {
            throw new RefusedException("this release has no class " + declaration.type());
        }
        int methods = found.resolve().getDeclaredMethods().filter(place(declaration)).size();
        if (methods != 1) {
            throw new RefusedException(
                    declaration.type() + " has " + methods + " methods " + declaration.method() + ", not one");
        }
    }

    private static ElementMatcher.Junction<MethodDescription> place(Declaration declaration) {
        ElementMatcher.Junction<MethodDescription> name = named(declaration.method());
        return declaration.arguments() == null ? name : name.and(takesArguments(declaration.arguments()));
    }

    /** Read from its file: loading it would load classes of BookKeeper before they can be changed. */
    private static Advice advice(Declaration declaration, TypePool pool) {
        TypePool.Resolution found = pool.describe(declaration.advice());
        if (!found.isResolved()) {
            throw new RefusedException("its advice " + declaration.advice() + " is missing");
        }
        return Advice.to(found.resolve(), ClassFileLocator.ForClassLoader.ofSystemLoader());
    }

    private static void change(Declaration declaration, Advice advice, Instrumentation instrumentation) {
        ElementMatcher<? super MethodDescription> method = place(declaration);
        new AgentBuilder.Default()
                .disableClassFormatChanges()
                .ignore(none())
                .with(new Failures(declaration.name()))
                .type(named(declaration.type()))
                .transform((builder, type, loader, module, domain) -> builder.visit(advice.on(method)))
                .installOn(instrumentation);
    }

    private static void refuse(String argument, String reason) {
        Line.of("refused", argument).with("reason", reason).print();
        Runtime.getRuntime().halt(REFUSED);
    }

    /** Reports that the class was changed, and ends the process when it could not be. */
    private static final class Failures extends AgentBuilder.Listener.Adapter {
        private final String defect;

        Failures(String defect) {
            this.defect = defect;
        }

        @Override
        public void onTransformation(
                TypeDescription type, ClassLoader loader, JavaModule module, boolean loaded,
                net.bytebuddy.dynamic.DynamicType dynamicType) {
            Line.of("changed", defect).with("type", type.getName()).print();
        }

        @Override
        public void onError(
                String type, ClassLoader loader, JavaModule module, boolean loaded, Throwable problem) {
            refuse(defect, type + " cannot be changed: " + problem);
        }
    }
}
